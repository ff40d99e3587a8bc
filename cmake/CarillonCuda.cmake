# SPDX-License-Identifier: Apache-2.0
# Decides how much of CUDA this build has, and says so.
include(CarillonDeviceSources)
set(CARILLON_HAVE_NVCC OFF)
set(CARILLON_CUDA_INCLUDE_DIR "")
set_property(CACHE CARILLON_CUDA PROPERTY STRINGS auto nvcc headers off)

# pip builds for the GPU that is here, or no device code: for every GPU it would take an hour.
set(wanted "${CARILLON_CUDA}")
if(SKBUILD AND CARILLON_CUDA STREQUAL "auto" AND NOT CARILLON_CUDA_ARCHITECTURES)
  file(GLOB gpus "/dev/nvidia[0-9]*")
  if(gpus)
    set(CARILLON_CUDA_ARCHITECTURES native)
  else()
    message(STATUS "carillon: no GPU here, so no device code: CMAKE_ARGS=-DCARILLON_CUDA=nvcc "
                   "builds it for every GPU, -DCARILLON_CUDA_ARCHITECTURES=90 for one")
    set(wanted headers)
  endif()
endif()

if(wanted MATCHES "^(auto|nvcc)$")
  carillon_find_nvcc()
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
    message(FATAL_ERROR "carillon: CARILLON_CUDA=${CARILLON_CUDA}, but cuda.h was not found "
                        "(scripts/setup --cuda provides it)")
  endif()
  # A toolkit may have it in a folder of its own, or not at all: the guard needs it, and it alone.
  find_path(CARILLON_CUPTI_INCLUDE_DIR cupti.h
            HINTS "${CARILLON_CUDA_H_DIR}" "${CARILLON_CUDA_H_DIR}/../extras/CUPTI/include"
            NO_DEFAULT_PATH)
  # The folder of libcupti.so, in which no loader looks. An installed program names no folder of the
  # machine that built it; our own programs know the folder until they are installed.
  get_filename_component(CARILLON_CUPTI_FOLDER "${CARILLON_CUPTI_INCLUDE_DIR}/../lib64" ABSOLUTE)
  if(CARILLON_INSTALL AND CARILLON_CUPTI_INCLUDE_DIR)
    list(APPEND CMAKE_BUILD_RPATH "${CARILLON_CUPTI_FOLDER}")
  endif()
endif()

if(CARILLON_HAVE_NVCC)
  # Tests run on any GPU from PTX, which saves their compilation a dozen times.
  if(NOT CARILLON_TEST_CUDA_ARCHITECTURES AND CARILLON_CUDA_ARCHITECTURES)
    set(CARILLON_TEST_CUDA_ARCHITECTURES "${CARILLON_CUDA_ARCHITECTURES}")
  elseif(NOT CARILLON_TEST_CUDA_ARCHITECTURES)
    set(CARILLON_TEST_CUDA_ARCHITECTURES 75-virtual)
  endif()
  # The laboratory and the examples stay where they are built: PTX, compiled for the GPU as they
  # start, saves a dozen compilations of each. Hopper has instructions of its own.
  set(CARILLON_LOCAL_CUDA_ARCHITECTURES "${CARILLON_CUDA_ARCHITECTURES}")
  if(NOT CARILLON_LOCAL_CUDA_ARCHITECTURES)
    set(CARILLON_LOCAL_CUDA_ARCHITECTURES 75-virtual 90-virtual)
  endif()
  carillon_choose_architectures(CARILLON_CUDA_ARCHITECTURES)
elseif(CARILLON_CUDA_INCLUDE_DIR)
  message(STATUS "carillon: CUDA headers only: GPU memory, but no device code "
                 "(kernels run on the emulated device)")
else()
  message(STATUS "carillon: no CUDA: the emulated device only")
endif()

# For projects that add this one as a subdirectory.
set(CARILLON_HAVE_NVCC "${CARILLON_HAVE_NVCC}" CACHE INTERNAL "device code can be built")
set(CARILLON_DEVICE_ARCHITECTURES "${CARILLON_CUDA_ARCHITECTURES}" CACHE INTERNAL "")
set(CARILLON_DEVICE_OPTIONS "${CARILLON_DEVICE_OPTIONS}" CACHE INTERNAL "")
