# SPDX-License-Identifier: Apache-2.0
# The component `compat` of what is installed, a package of its own: find_package(carillon_compat),
# and a file for pkg-config for each library. cmake/CarillonInstall.cmake includes this.
set(compat_folder "${CMAKE_CURRENT_LIST_DIR}")
set(compat_cmake_folder "${CMAKE_INSTALL_LIBDIR}/cmake/carillon_compat")
carillon_install_whole(compat carillon_vkgdr carillon_gdrapi)
install(TARGETS carillon_vkgdr carillon_gdrapi EXPORT carillonCompatTargets COMPONENT compat)
install(DIRECTORY "${compat_folder}/include/carillon" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        COMPONENT compat)
foreach(target carillon_vkgdr carillon_gdrapi)
  target_include_directories(
    ${target} INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/carillon/compat>")
endforeach()
if(NOT CARILLON_IS_STATIC)
  set_target_properties(carillon_vkgdr carillon_gdrapi PROPERTIES INSTALL_RPATH "$ORIGIN")
endif()

configure_package_config_file("${compat_folder}/carillon_compatConfig.cmake.in"
                              "${generated}/carillon_compatConfig.cmake"
                              INSTALL_DESTINATION "${compat_cmake_folder}")
write_basic_package_version_file("${generated}/carillon_compatConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT carillonCompatTargets NAMESPACE carillon:: DESTINATION "${compat_cmake_folder}"
        COMPONENT compat)
install(FILES "${generated}/carillon_compatConfig.cmake"
              "${generated}/carillon_compatConfigVersion.cmake"
        DESTINATION "${compat_cmake_folder}" COMPONENT compat)
foreach(name vkgdr gdrapi)
  configure_file("${compat_folder}/carillon-${name}.pc.in" "${generated}/carillon-${name}.pc" @ONLY)
  install(FILES "${generated}/carillon-${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
          COMPONENT compat)
endforeach()
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libcarillon-compat-dev"
        RENAME copyright COMPONENT compat)
