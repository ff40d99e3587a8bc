# SPDX-License-Identifier: Apache-2.0
# Man pages of the command, made of its own --help. Without Python there are none.
find_package(Python3 3.9 COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
  message(STATUS "carillon: no Python: the command gets no man pages")
  return()
endif()
set(man_folder "${CMAKE_CURRENT_BINARY_DIR}/man")
add_custom_command(OUTPUT "${man_folder}/carillon.1"
                   COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/man.py"
                           "$<TARGET_FILE:carillon_command>" "${man_folder}"
                   DEPENDS carillon_command "${CMAKE_CURRENT_SOURCE_DIR}/man.py" VERBATIM)
if(CARILLON_INSTALL)
  include(GNUInstallDirs)
  set(in_all ALL)  # an installed page must have been built
  install(DIRECTORY "${man_folder}/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT command
          FILES_MATCHING PATTERN "*.1")
endif()
add_custom_target(carillon_man ${in_all} DEPENDS "${man_folder}/carillon.1")
