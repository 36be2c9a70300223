/* Helper of the macros in the other headers for C++, which has no compound literals.
 *
 * The macros use designated initialisers, which are part of C++20. Older modes of the compilers
 * accept them with warnings, and compilers also warn about members that are not initialised. The
 * pragma makes this file a system header, so that users do not see these warnings. */
#ifndef GANGWAY_CXX_H
#define GANGWAY_CXX_H

#ifdef __cplusplus
#pragma GCC system_header

#define GW_BRACES(type, ...) (__extension__ type{__VA_ARGS__})

#endif
#endif
