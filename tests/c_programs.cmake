# SPDX-License-Identifier: Apache-2.0
# Programs in C, compiled with strict warnings, and the exports of the libraries that they use. The
# suite is the calling folder: its name begins the tests' names and is their label.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(abi_test "${CMAKE_CURRENT_LIST_DIR}/c/abi_test.py")

# NAME_test.c as the program carillon_SUITE_NAME_test
function(carillon_c_program name library)
  get_filename_component(suite "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  set(program carillon_${suite}_${name}_test)
  add_executable(${program} ${name}_test.c)
  set_target_properties(${program} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON
                                              C_EXTENSIONS ON)  # POSIX
  target_compile_options(${program} PRIVATE -Wall -Wextra -pedantic -Werror)
  target_link_libraries(${program} PRIVATE ${library} Threads::Threads ${CMAKE_DL_LIBS})
endfunction()
function(carillon_c_test name program)
  get_filename_component(suite "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  add_test(NAME ${suite}.${name} COMMAND carillon_${suite}_${program}_test ${ARGN})
  set_tests_properties(${suite}.${name} PROPERTIES TIMEOUT 120 LABELS ${suite} SKIP_RETURN_CODE 77)
endfunction()
# A list keeps a library's exports: none of them may go.
function(carillon_abi_test name library)
  get_filename_component(suite "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  add_test(NAME ${suite}.${name} COMMAND "${Python3_EXECUTABLE}" "${abi_test}"
           "$<TARGET_FILE:${library}>" "$<TARGET_SONAME_FILE_NAME:${library}>"
           "${CMAKE_CURRENT_SOURCE_DIR}/${library}.abi")
  set_tests_properties(${suite}.${name} PROPERTIES TIMEOUT 60 LABELS ${suite} SKIP_RETURN_CODE 77)
endfunction()
