# SPDX-License-Identifier: Apache-2.0
# Decides how much of CUDA this build has, and says so.
set(CARILLON_HAVE_NVCC OFF)
set(CARILLON_CUDA_INCLUDE_DIR "")
set_property(CACHE CARILLON_CUDA PROPERTY STRINGS auto nvcc headers off)

if(CARILLON_CUDA MATCHES "^(auto|nvcc)$")
  if(NOT CMAKE_CUDA_COMPILER)
    execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/find-nvcc"
                    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(found)
      set(CMAKE_CUDA_COMPILER "${found}" CACHE FILEPATH "nvcc")
    endif()
  endif()
  if(CMAKE_CUDA_COMPILER)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES OFF)  # carillon_device_sources sets them
    endif()
    enable_language(CUDA)
    set(CARILLON_HAVE_NVCC ON)
  elseif(CARILLON_CUDA STREQUAL "nvcc")
    message(FATAL_ERROR "carillon: CARILLON_CUDA=nvcc, but no nvcc of CUDA 12.4 or later was "
                        "found (scripts/setup --cuda provides one)")
  endif()
endif()

if(NOT CARILLON_CUDA STREQUAL "off")
  find_path(CARILLON_CUDA_H_DIR cuda.h
            HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}
                  "${PROJECT_SOURCE_DIR}/.deps/cuda/include" /usr/local/cuda/include)
  if(CARILLON_CUDA_H_DIR)
    set(CARILLON_CUDA_INCLUDE_DIR "${CARILLON_CUDA_H_DIR}")
  elseif(NOT CARILLON_CUDA STREQUAL "auto")
    message(FATAL_ERROR "carillon: CARILLON_CUDA=${CARILLON_CUDA}, but cuda.h was not found")
  endif()
  # A toolkit may have it in a folder of its own, or not at all: the guard needs it, and it alone.
  find_path(CARILLON_CUPTI_INCLUDE_DIR cupti.h
            HINTS "${CARILLON_CUDA_H_DIR}" "${CARILLON_CUDA_H_DIR}/../extras/CUPTI/include"
            NO_DEFAULT_PATH)
endif()

if(CARILLON_HAVE_NVCC)
  # Tests run on any GPU from PTX, which saves their compilation a dozen times.
  if(NOT CARILLON_TEST_CUDA_ARCHITECTURES AND CARILLON_CUDA_ARCHITECTURES)
    set(CARILLON_TEST_CUDA_ARCHITECTURES "${CARILLON_CUDA_ARCHITECTURES}")
  elseif(NOT CARILLON_TEST_CUDA_ARCHITECTURES)
    set(CARILLON_TEST_CUDA_ARCHITECTURES 75-virtual)
  endif()
  if(NOT CARILLON_CUDA_ARCHITECTURES)
    execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --list-gpu-arch OUTPUT_VARIABLE listed)
    string(REGEX MATCHALL "[0-9]+" known "${listed}")
    list(FILTER known INCLUDE REGEX "^(7[5-9]|[89][0-9]|[0-9][0-9][0-9])$")
    list(SORT known COMPARE NATURAL)
    list(GET known -1 newest)
    list(TRANSFORM known APPEND "-real")
    set(CARILLON_CUDA_ARCHITECTURES ${known} "${newest}-virtual")
  endif()
  message(STATUS "carillon: device code for ${CARILLON_CUDA_ARCHITECTURES}")
elseif(CARILLON_CUDA_INCLUDE_DIR)
  message(STATUS "carillon: CUDA headers only: GPU memory, but no device code "
                 "(kernels run on the emulated device)")
else()
  message(STATUS "carillon: no CUDA: the emulated device only")
endif()

# For projects that add this one as a subdirectory.
set(CARILLON_HAVE_NVCC "${CARILLON_HAVE_NVCC}" CACHE INTERNAL "device code can be built")
set(CARILLON_DEVICE_ARCHITECTURES "${CARILLON_CUDA_ARCHITECTURES}" CACHE INTERNAL "")
# A handler that lacks CARILLON_HD: nvcc only warns of that, and the kernel does something else.
set(CARILLON_DEVICE_OPTIONS -Werror=cross-execution-space-call CACHE INTERNAL "")

# What CMake's unity build does for CUDA from 3.31 on: replaces sources of `target` by others that
# include them, and lists those in `sources` instead.
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
# the CPU; otherwise the C++ compiler does, for the emulated device. To be called from a
# CMakeLists.txt itself, not from a function: a macro, so that it can enable CUDA there.
macro(carillon_device_sources target)
  if(CARILLON_HAVE_NVCC)
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
