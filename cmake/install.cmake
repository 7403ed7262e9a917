# What `cmake --install` puts where, and the packages that other projects find:
#   find_package(Inkstone)         target Inkstone::hunyuan_ocr
#   find_package(HunyuanOCRncnn)   target HunyuanOCRncnn::runtime, the same library by another name
# The commands are installed beside their definition, in app/CMakeLists.txt.
include(CMakePackageConfigHelpers)

set(inkstone_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Inkstone)
set(hunyuan_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/HunyuanOCRncnn)

# The same names whether the project is installed or added by add_subdirectory.
set_target_properties(inkstone PROPERTIES EXPORT_NAME hunyuan_ocr)
add_library(Inkstone::hunyuan_ocr ALIAS inkstone)
add_library(HunyuanOCRncnn::runtime ALIAS inkstone)

install(TARGETS inkstone EXPORT InkstoneTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT InkstoneTargets NAMESPACE Inkstone:: DESTINATION ${inkstone_package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/nano DESTINATION ${CMAKE_INSTALL_DATADIR}/inkstone/models)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(inkstone_models_dir ${CMAKE_INSTALL_DATADIR}/inkstone/models)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/InkstoneConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/InkstoneConfig.cmake
  INSTALL_DESTINATION ${inkstone_package_dir} PATH_VARS inkstone_models_dir)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/HunyuanOCRncnnConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/HunyuanOCRncnnConfig.cmake
  INSTALL_DESTINATION ${hunyuan_package_dir})
foreach(package Inkstone HunyuanOCRncnn)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/${package}ConfigVersion.cmake
    VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/package/${package}Config.cmake
    ${PROJECT_BINARY_DIR}/package/${package}ConfigVersion.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/${package})
endforeach()
