# SPDX-License-Identifier: Apache-2.0
# A shared library with C's names, which contains all that it needs of the C++ library.
#   carillon_c_library(TARGET HEADER_FOLDER SOURCES...)  TARGET.map lists its exports
function(carillon_c_library target headers)
  add_library(${target} SHARED ${ARGN})
  string(REGEX REPLACE "^carillon_" "" short "${target}")
  add_library(carillon::${short} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${short} VERSION 0.${PROJECT_VERSION_MINOR}
                        SOVERSION 0 CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${target}.map")
  target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${headers}>"
                             PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE carillon::carillon fmt::fmt)
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,defs
                      "-Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${target}.map")
  carillon_options(${target})
endfunction()
