# SPDX-License-Identifier: Apache-2.0
# The Debian packages, by `cpack -G DEB` in the build folder: libcarillon-dev, libcarillon-compat-dev
# (compat/), and carillon, the command.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL dev)
if(TARGET carillon_gdrapi)
  list(APPEND CPACK_COMPONENTS_ALL compat)
endif()
if(TARGET carillon_command)
  list(APPEND CPACK_COMPONENTS_ALL command)
endif()
set(CPACK_PACKAGE_NAME carillon)
set(CPACK_PACKAGE_CONTACT "${CARILLON_CONTACT}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# The loader is opened at run time; without it there is no GPU memory to map.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libvulkan1)

# The libraries that a program is linked with beside the static library.
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libcarillon-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libc6-dev, libfmt-dev (>= ${fmt_major}), libfmt-dev (<< ${next_fmt_major})")
if(CARILLON_NEEDS_HWLOC)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libhwloc-dev")
endif()
if(CARILLON_HAS_TESTING)  # which only unit tests of handlers link
  set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS libboost-context-dev)
endif()
set(CPACK_DEBIAN_DEV_DESCRIPTION "The library and its headers.")

set(CPACK_DEBIAN_COMPAT_PACKAGE_NAME libcarillon-compat-dev)
set(CPACK_DEBIAN_COMPAT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_COMPAT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPAT_DESCRIPTION "The calls of gdrcopy and of vkgdr, made of Carillon.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME carillon)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "The command, which measures, checks and tunes a machine.")
include(CPack)
