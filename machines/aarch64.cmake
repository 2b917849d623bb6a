# The whole of assay for aarch64, by a cross compiler: the presets aarch64 and aarch64-clang. Debian's libraries of aarch64 are unpacked into
# build/aarch64 (ASSAY_AARCH64_ROOT names another directory), and the machine's own stay as they are:
#
#   sh tests/install build aarch64
#   sh tests/other_packages --libraries build/aarch64
#   cmake --preset aarch64 && cmake --build --preset aarch64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(ASSAY_AARCH64_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64 CACHE PATH "where Debian's packages of aarch64 are unpacked")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ASSAY_AARCH64_ROOT)
get_filename_component(CMAKE_SYSROOT ${ASSAY_AARCH64_ROOT} ABSOLUTE)
set(libraries ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu)
if(NOT EXISTS ${libraries}/libc.so)
  message(FATAL_ERROR "Debian's libraries of aarch64 are not in ${CMAKE_SYSROOT}: docs/architectures.md says how to get them there")
endif()
if(NOT CMAKE_C_COMPILER)
  set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
endif()
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu) # clang's
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_LINKER aarch64-linux-gnu-ld)
set(CMAKE_OBJCOPY aarch64-linux-gnu-objcopy)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
# Tests run by the emulation of single programs; theirs, too, finds the libraries there.
find_program(emulator NAMES qemu-aarch64 qemu-aarch64-static)
if(emulator)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${emulator};-L;${CMAKE_SYSROOT})
endif()
