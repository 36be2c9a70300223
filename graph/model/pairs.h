/* "name=value,name=value" and "name,name": what options say as text, read in one place. Names are 1
 * to 64 of [A-Za-z0-9_.-]; no name comes twice. */
#ifndef GW_MODEL_PAIRS_H
#define GW_MODEL_PAIRS_H

#include <gangway/error.h>

#include "graph/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GW_PAIRS_MAX = 64,
    GW_PAIRS_NAME_MAX = 64,
    GW_PAIRS_BYTES_MAX = 4096, /* of a text */
};

/* By name, in the order of strcmp. */
struct gw_pairs {
    const struct gw_pair {
        const char *name, *value;
    } * items;
    uint32_t count;
};

/* gw_pairs_parse reads "name=value,..."; values hold no comma and may be empty; NULL and "" are no
 * pairs. All lies in the arena. GW_EINVAL with a text that says which and what is wrong,
 * GW_ENOMEM. */
int gw_pairs_parse(const char *text, struct gw_arena *arena, struct gw_pairs *pairs,
                   struct gw_error *error);

/* gw_pairs_parse_names reads "name,name"; all values are "". A host's name may be up to 255 long,
 * and an IPv6 address stands in brackets, which are no part of its name. */
int gw_pairs_parse_names(const char *text, struct gw_arena *arena, struct gw_pairs *names,
                         struct gw_error *error);

/* gw_pairs_find gives the value of a name, NULL where there is none. */
const char *gw_pairs_find(const struct gw_pairs *pairs, const char *name);

bool gw_pairs_equal(const struct gw_pairs *a, const struct gw_pairs *b);

#endif
