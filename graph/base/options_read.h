/* Reads options structs of programs that were built with another version (gangway/options.h). */
#ifndef GW_BASE_OPTIONS_READ_H
#define GW_BASE_OPTIONS_READ_H

#include <gangway/error.h>
#include <gangway/options.h>

/* GW_OPTIONS_READ copies the options struct `from` (NULL: the default of every field) of a caller
 * to `to`, with struct_size as this library knows it. Fields that the caller's version does not
 * have become 0. Returns GW_EINVAL if struct_size is missing; GW_ENOTSUP if the caller sets a field
 * that this library does not know. */
#define GW_OPTIONS_READ(to, from, type, error)                                                     \
    gw_options_read_sized((to), sizeof(struct type), 1 ? (from) : (const struct type *)NULL,       \
                          #type, (error))

int gw_options_read_sized(void *to, size_t known, const void *from, const char *type,
                          struct gw_error *error);

/* GW_OPTIONS_READ_RESERVED checks the reserved words of a group of fields (gangway/options.h).
 * Returns GW_ENOTSUP if the caller sets one: a later version has a field there. */
#define GW_OPTIONS_READ_RESERVED(group, type, error)                                               \
    gw_options_read_reserved((group)->reserved,                                                    \
                             sizeof(group)->reserved / sizeof *(group)->reserved, #type, (error))

int gw_options_read_reserved(const uint64_t *words, size_t count, const char *type,
                             struct gw_error *error);

#endif
