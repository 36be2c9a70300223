/* Parses the texts of options: "name=value,name=value" and "name,name". A name has 1 to 64
 * characters of [A-Za-z0-9_.-]. No name may occur twice. */
#ifndef GW_MODEL_PAIRS_H
#define GW_MODEL_PAIRS_H

#include <gangway/error.h>

#include "graph/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GW_PAIRS_MAX = 64,
    GW_PAIRS_NAME_MAX = 64,
    GW_PAIRS_BYTES_MAX = 4096, /* maximum length of a text */
};

/* Sorted by name, in the order of strcmp. */
struct gw_pairs {
    const struct gw_pair {
        const char *name, *value;
    } * items;
    uint32_t count;
};

/* gw_pairs_parse parses "name=value,...". Values contain no comma and may be empty. NULL and ""
 * give no pairs. All memory is in the arena. Returns GW_EINVAL with a text that names the item and
 * the error, or GW_ENOMEM. */
int gw_pairs_parse(const char *text, struct gw_arena *arena, struct gw_pairs *pairs,
                   struct gw_error *error);

/* gw_pairs_parse_names parses "name,name". All values are "". A name may be the name of a host of
 * up to 255 characters, or an IPv6 address in brackets; the brackets are removed. */
int gw_pairs_parse_names(const char *text, struct gw_arena *arena, struct gw_pairs *names,
                         struct gw_error *error);

/* gw_pairs_find returns the value of a name, or NULL if there is no such name. */
const char *gw_pairs_find(const struct gw_pairs *pairs, const char *name);

bool gw_pairs_equal(const struct gw_pairs *a, const struct gw_pairs *b);

#endif
