# What Gangway links, as imported targets. msgpack-c has two names: `msgpack` (Debian 12) and
# `msgpack-c` (later).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(LIBUV REQUIRED IMPORTED_TARGET libuv)
pkg_search_module(MSGPACK REQUIRED IMPORTED_TARGET msgpack-c msgpack)
# The file msgpack-c.pc of Debian 13 names the folder `include`, without its prefix. CMake does not
# accept such a folder. The compiler finds the headers without it.
get_target_property(GANGWAY_MSGPACK_INCLUDES PkgConfig::MSGPACK INTERFACE_INCLUDE_DIRECTORIES)
list(FILTER GANGWAY_MSGPACK_INCLUDES INCLUDE REGEX "^/")
set_property(TARGET PkgConfig::MSGPACK
  PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${GANGWAY_MSGPACK_INCLUDES}")
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
pkg_check_modules(CONFIG REQUIRED IMPORTED_TARGET libconfig)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(SSL REQUIRED IMPORTED_TARGET libssl>=3.0)
if(GANGWAY_EXAMPLES)
  pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
  pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
endif()
if(GANGWAY_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()
if(GANGWAY_CUDA)
  find_package(CUDAToolkit REQUIRED)
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE}) # it may not be in PATH
  endif()
endif()
