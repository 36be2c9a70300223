/* What the macros of the other headers use in C++, which has no compound literals.
 *
 * Designators are C++20's. Compilers know them before that, and warn of them, and of members that
 * are left out, which in C nobody does: so this file is a system header to them. */
#ifndef GANGWAY_CXX_H
#define GANGWAY_CXX_H

#ifdef __cplusplus
#pragma GCC system_header

#define GW_BRACES(type, ...) (__extension__ type{__VA_ARGS__})

#endif
#endif
