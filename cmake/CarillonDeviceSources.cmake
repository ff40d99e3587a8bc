# SPDX-License-Identifier: Apache-2.0
# carillon_device_sources() and its parts: finding nvcc, and choosing architectures. This file is
# installed too.

# A function of the host's alone that a handler calls: nvcc only warns of that, and the kernel does
# something else.
set(CARILLON_DEVICE_OPTIONS -Werror=cross-execution-space-call)

# Sets CMAKE_CUDA_COMPILER to an nvcc of CUDA 12.4 or later, if there is one.
function(carillon_find_nvcc)
  if(CMAKE_CUDA_COMPILER)
    return()
  endif()
  find_file(script find-nvcc PATHS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}"  # in an installed tree
                                   "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../scripts"
            NO_DEFAULT_PATH NO_CACHE REQUIRED)
  execute_process(COMMAND "${script}" OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
  if(found)
    set(CMAKE_CUDA_COMPILER "${found}" CACHE FILEPATH "nvcc")
  endif()
endfunction()

# Sets `result` to CARILLON_CUDA_ARCHITECTURES, or if that is empty to every architecture from sm_75
# on that nvcc knows, and PTX of the newest; says which.
function(carillon_choose_architectures result)
  # CMake itself would say so once for each target, and no cure.
  if("native" IN_LIST CARILLON_CUDA_ARCHITECTURES AND "${CMAKE_CUDA_ARCHITECTURES_NATIVE}" STREQUAL "")
    message(FATAL_ERROR "carillon: CARILLON_CUDA_ARCHITECTURES is native, but this machine has no GPU: "
                        "name the architecture (90 for an H100), or set CARILLON_CUDA=off")
  endif()
  if(CARILLON_CUDA_ARCHITECTURES)
    message(STATUS "carillon: device code for ${CARILLON_CUDA_ARCHITECTURES}")
    set(${result} "${CARILLON_CUDA_ARCHITECTURES}" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --list-gpu-arch OUTPUT_VARIABLE listed)
  string(REGEX MATCHALL "[0-9]+" known "${listed}")
  list(FILTER known INCLUDE REGEX "^(7[5-9]|[89][0-9]|[0-9][0-9][0-9])$")
  list(SORT known COMPARE NATURAL)
  list(GET known -1 newest)
  list(JOIN known " " names)
  message(STATUS "carillon: device code for every one of ${names}; for one only, in a fraction of "
                 "the time: -DCARILLON_CUDA_ARCHITECTURES=native (the GPU here), or =90")
  list(TRANSFORM known APPEND "-real")
  set(${result} ${known} "${newest}-virtual" PARENT_SCOPE)
endfunction()

# Does for CUDA what CMake's unity build does from 3.31 on: replaces sources of `target` by others
# that include them, and lists those in `sources` instead.
function(carillon_unite_device_sources target sources)
  set_source_files_properties(${${sources}} PROPERTIES HEADER_FILE_ONLY ON)
  set(united)
  set(batch 0)
  set(size 0)
  set(text "")
  foreach(source ${${sources}})
    get_filename_component(path "${source}" ABSOLUTE)
    string(APPEND text "#include \"${path}\"\n")
    math(EXPR size "${size} + 1")
    list(GET ${sources} -1 last)
    if(size EQUAL CMAKE_UNITY_BUILD_BATCH_SIZE OR source STREQUAL last)
      set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_unity_${batch}.cu")
      file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
      list(APPEND united "${file}")
      math(EXPR batch "${batch} + 1")
      set(size 0)
      set(text "")
    endif()
  endforeach()
  target_sources(${target} PRIVATE ${united})
  set(${sources} ${united} PARENT_SCOPE)
endfunction()

# These sources of `target` hold kernels: nvcc compiles them where there is one, for the GPU and
# the CPU; otherwise the C++ compiler does, for the emulated device. A macro, so that it can enable
# CUDA, which no function can.
macro(carillon_device_sources target)
  if(CARILLON_HAVE_NVCC)
    if(CMAKE_CURRENT_FUNCTION
       AND NOT (CMAKE_CUDA_COMPILER_LOADED AND CMAKE_CUDA20_STANDARD_COMPILE_OPTION))
      message(FATAL_ERROR
              "carillon_device_sources() cannot enable CUDA within the function "
              "${CMAKE_CURRENT_FUNCTION}(): call it in a CMakeLists.txt itself, or with CMake 3.26 "
              "or later write enable_language(CUDA) there before")
    endif()
    if(NOT CMAKE_CUDA_COMPILER_LOADED)
      if(NOT CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES OFF)
      endif()
      enable_language(CUDA)
    endif()
    # CMake before 3.26 does not know nvcc's C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(device_sources ${ARGN})
    if(CMAKE_UNITY_BUILD AND CMAKE_VERSION VERSION_LESS 3.31)
      carillon_unite_device_sources(${target} device_sources)
    endif()
    set_source_files_properties(${device_sources} PROPERTIES LANGUAGE CUDA)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${CARILLON_DEVICE_ARCHITECTURES}"
                                               CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON
                                               CUDA_RUNTIME_LIBRARY Static)
    target_compile_options(${target} PRIVATE
                           "$<$<COMPILE_LANGUAGE:CUDA>:${CARILLON_DEVICE_OPTIONS}>")
  endif()
endmacro()
