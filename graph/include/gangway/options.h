/* Options structs, which can grow: a program that was built with these headers also runs with a
 * later library whose structs have more fields.
 *
 * Each options struct begins with struct_size, the size that the program knows. Build the struct
 * with its macro inside a call, or with GW_INIT as a variable; both set struct_size:
 *
 *     gw_client_open(GW_CLIENT_OPTIONS(.slots = 4), &client, &error);
 *
 *     struct gw_client_options options = GW_INIT(gw_client_options, .slots = 4);
 *
 * Zero is the default of every other field. A struct without struct_size is refused (GW_EINVAL). A
 * library that is older than the program refuses options that set a field which the library does
 * not know.
 *
 * Some fields are in a group, which is a struct of its own:
 *
 *     GW_OPTIONS(.retries = 3, .gang = {.min_ranks = 2}, .gpu = {.count = 1})
 *
 * A group lies inside the options struct, so its size cannot change. It ends with reserved words,
 * which are 0: a later version puts a new field in the place of whole reserved words.
 *
 * A struct that a macro built in a call is valid until the call has returned. In C++ the fields
 * must be in the order of the struct. */
#ifndef GANGWAY_OPTIONS_H
#define GANGWAY_OPTIONS_H

#include <stdint.h>

/* GW_FOREVER is a time without an end: no timeout, no limit. Every time in nanoseconds accepts it,
 * as a field or as a parameter. In a field of an options struct, 0 is the default; write 1 for no
 * time at all. A parameter timeout_ns of 0 does not wait.
 *
 * GW_NONE is a number of zero, for a field in which 0 means another number. GW_UNLIMITED is a
 * number without a limit. The comment of a field says if the field accepts GW_NONE or GW_UNLIMITED.
 */
#define GW_FOREVER UINT64_MAX
#define GW_NONE UINT32_MAX
#define GW_UNLIMITED ((uint32_t)INT32_MAX)

#ifdef __cplusplus
/* C++ has no compound literals. Designators belong to C++20. Compilers know them before, but warn
 * of them, and of fields that are left out; a system header is exempt from these warnings. */
#pragma GCC system_header

#define GW_BRACES(type, ...) (__extension__ type{__VA_ARGS__})
#define GW_INIT(type, ...) GW_BRACES(type, .struct_size = sizeof(type), __VA_ARGS__)
#define GW_POINTER(type, ...) gw_pointer_to(GW_INIT(type, __VA_ARGS__))

/* gw_pointer_to returns the address of a temporary object. */
template <class type> static inline const type *gw_pointer_to(const type &object)
{
    return &object;
}
#else
#define GW_INIT(type, ...)                                                                         \
    {                                                                                              \
        .struct_size = sizeof(struct type), __VA_ARGS__                                            \
    }
#define GW_POINTER(type, ...) (&(const struct type)GW_INIT(type, __VA_ARGS__))
#endif

#endif
