/* Reads options structs of programs that were built with another version. */
#include "graph/base/options_read.h"

#include <gangway/version.h>
#include <stdbool.h>
#include <string.h>

/* No options struct grows beyond this size: a larger one was not initialised. */
enum { STRUCT_SIZE_MAX = 64 << 10 };

static int refuse_later(const char *type, struct gw_error *error)
{
    return gw_error_set(error, GW_ENOTSUP,
                        "struct %s sets a field that this library does not know: the program was "
                        "built with a version later than " GANGWAY_VERSION,
                        type);
}

int gw_options_read_reserved(const uint64_t *words, size_t count, const char *type,
                             struct gw_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (words[i])
            return refuse_later(type, error);
    return 0;
}

int gw_options_read_sized(void *to, size_t known, const void *from, const char *type,
                          struct gw_error *error)
{
    size_t given = known;
    if (from)
        memcpy(&given, from, sizeof given);
    if (given < sizeof given || given > STRUCT_SIZE_MAX)
        return gw_error_set(error, GW_EINVAL,
                            "struct %s has the struct_size %zu: build it with GW_INIT(%s, ...), or "
                            "with its macro",
                            type, given, type);
    const unsigned char *bytes = from;
    for (size_t i = known; i < given; i++)
        if (bytes[i])
            return refuse_later(type, error);
    memset(to, 0, known);
    if (from)
        memcpy(to, from, given < known ? given : known);
    memcpy(to, &known, sizeof known);
    return 0;
}
