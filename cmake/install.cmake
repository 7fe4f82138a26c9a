# Install tree: headers, library, command, CMake package and pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS allot EXPORT allot-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS allot_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/allot DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_BINARY_DIR}/include/allot/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/allot)

# Manual page and completion scripts come from the built command's own tables.
set(ALLOT_SHELL_FILES allot.1 allot.bash _allot allot.fish)
list(TRANSFORM ALLOT_SHELL_FILES PREPEND ${CMAKE_BINARY_DIR}/share/)
add_custom_command(OUTPUT ${ALLOT_SHELL_FILES}
  COMMAND ${CMAKE_COMMAND} -E make_directory share
  COMMAND allot_command version --man-page > share/allot.1
  COMMAND allot_command completion bash > share/allot.bash
  COMMAND allot_command completion zsh > share/_allot
  COMMAND allot_command completion fish > share/allot.fish
  DEPENDS allot_command WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
add_custom_target(allot_shell_files ALL DEPENDS ${ALLOT_SHELL_FILES})
install(FILES ${CMAKE_BINARY_DIR}/share/allot.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_BINARY_DIR}/share/allot.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME allot)
install(FILES ${CMAKE_BINARY_DIR}/share/_allot DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${CMAKE_BINARY_DIR}/share/allot.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(EXPORT allot-targets NAMESPACE allot:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/allot)

configure_package_config_file(cmake/allot-config.cmake.in ${CMAKE_BINARY_DIR}/allot-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/allot)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/allot-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/allot-config.cmake ${CMAKE_BINARY_DIR}/allot-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/allot)

# The pkg-config file finds its prefix from where it lies, so that `cmake --install --prefix` may choose another.
file(RELATIVE_PATH ALLOT_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/allot.pc.in ${CMAKE_BINARY_DIR}/allot.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/allot.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
