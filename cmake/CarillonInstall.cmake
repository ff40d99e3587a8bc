# SPDX-License-Identifier: Apache-2.0
# The rules of installation, and the Debian packages: `dev` (the library and all that building with
# it takes), `compat` (compat/) and `command`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(cmake_folder "${CMAKE_INSTALL_LIBDIR}/cmake/carillon")
set(generated "${CMAKE_CURRENT_BINARY_DIR}/install")

# The libraries that a program is linked with beside a static carillon; a shared one brings its own.
# The names in libfmt hold its major version.
string(REGEX MATCH "^[0-9]+" fmt_major "${fmt_VERSION}")
math(EXPR next_fmt_major "${fmt_major} + 1")
get_target_property(library_type carillon TYPE)
set(CARILLON_IS_STATIC FALSE)
set(CARILLON_NEEDS_HWLOC FALSE)
set(pc_requires "")
set(pc_libs "")
if(library_type STREQUAL "STATIC_LIBRARY")
  set(CARILLON_IS_STATIC TRUE)
  set(pc_requires "fmt >= ${fmt_major}, fmt < ${next_fmt_major}")
  if(TARGET carillon::hwloc)
    set(CARILLON_NEEDS_HWLOC TRUE)
    string(APPEND pc_requires ", hwloc")
  endif()
  if(CMAKE_DL_LIBS)
    set(pc_libs " -l${CMAKE_DL_LIBS}")
  endif()
endif()
set(CARILLON_HAS_CUDA FALSE)
if(CARILLON_CUDA_INCLUDE_DIR)
  set(CARILLON_HAS_CUDA TRUE)
endif()
set(CARILLON_HAS_TESTING FALSE)
if(TARGET carillon_testing)
  set(CARILLON_HAS_TESTING TRUE)
endif()

configure_package_config_file(cmake/carillonConfig.cmake.in "${generated}/carillonConfig.cmake"
                              INSTALL_DESTINATION "${cmake_folder}")
write_basic_package_version_file("${generated}/carillonConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
# Relative to where it lies, so that the tree can be moved.
file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
foreach(folder INCLUDEDIR LIBDIR)
  set(pc_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    set(pc_${folder} "${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()
configure_file(cmake/carillon.pc.in "${generated}/carillon.pc" @ONLY)

# Stands before the rules of a component. If a target of it has not been built, as after
# scripts/demo, nothing is installed: a part of a tree would break programs that find it.
function(carillon_install_whole component)
  set(files)
  foreach(target ${ARGN})
    if(TARGET ${target})
      list(APPEND files "$<TARGET_FILE:${target}>")
    endif()
  endforeach()
  install(CODE "set(files \"${files}\")
  foreach(file IN LISTS files)
    if(NOT EXISTS \"\${file}\")
      message(FATAL_ERROR \"carillon: this build is not whole, and nothing of it is installed: \"
                          \"\${file} is missing. `cmake --build` it first\")
    endif()
  endforeach()" COMPONENT ${component})
endfunction()
carillon_install_whole(dev carillon carillon_testing carillon_c)
carillon_install_whole(command carillon_command)

install(TARGETS carillon EXPORT carillonTargets COMPONENT dev
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY include/carillon DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")
install(EXPORT carillonTargets NAMESPACE carillon:: DESTINATION "${cmake_folder}" COMPONENT dev)
install(FILES "${generated}/carillonConfig.cmake" "${generated}/carillonConfigVersion.cmake"
              cmake/CarillonDeviceSources.cmake
        DESTINATION "${cmake_folder}" COMPONENT dev)
install(PROGRAMS scripts/find-nvcc DESTINATION "${cmake_folder}" COMPONENT dev)
install(FILES "${generated}/carillon.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT dev)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libcarillon-dev" RENAME copyright
        COMPONENT dev)
set_target_properties(carillon PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# For unit tests. It is a set of its own, so that programs without it need no Boost.Context.
if(CARILLON_HAS_TESTING)
  install(TARGETS carillon_testing EXPORT carillonTestingTargets COMPONENT dev
          INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT carillonTestingTargets NAMESPACE carillon:: DESTINATION "${cmake_folder}"
          COMPONENT dev)
endif()

# The library for C, with a file for pkg-config.
if(TARGET carillon_c)
  install(TARGETS carillon_c EXPORT carillonTargets COMPONENT dev
          INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(FILES include/carillon.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
  if(NOT CARILLON_IS_STATIC)
    set_target_properties(carillon_c PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
  configure_file(cmake/carillon-c.pc.in "${generated}/carillon-c.pc" @ONLY)
  install(FILES "${generated}/carillon-c.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
          COMPONENT dev)
endif()
if(TARGET carillon_gdrapi)
  include("${PROJECT_SOURCE_DIR}/compat/install.cmake")
endif()

if(TARGET carillon_command)
  if(NOT CARILLON_IS_STATIC)
    file(RELATIVE_PATH library_folder "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
    set_target_properties(carillon_command PROPERTIES INSTALL_RPATH "$ORIGIN/${library_folder}")
  endif()
  install(TARGETS carillon_command COMPONENT command)
  install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/carillon" RENAME copyright
          COMPONENT command)
endif()

if(CARILLON_IS_STATIC)
  include(CarillonPackages)
else()
  message(STATUS "carillon: no Debian packages of a shared library")
endif()
