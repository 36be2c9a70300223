/* Places: where the ranks of a gang go, and how many, in the order of the ranks: "a:2,b:3". */
#ifndef GW_MODEL_PLACES_H
#define GW_MODEL_PLACES_H

#include "graph/model/pairs.h"

#define GW_PLACES_RANKS_MAX 65535 /* at one place */

struct gw_places {
    const struct gw_places_item {
        const char *name; /* of a worker or a host */
        uint32_t ranks;   /* at least 1 */
    } * items;            /* as they were said, GW_PAIRS_MAX at most; no name twice */
    uint32_t count;       /* 0: names alone, or none */
};

/* What of a gang has to go with its places. */
struct gw_places_of {
    uint32_t ranks, ranks_per_node, min_ranks;
    bool spread, prefer;
};

/* gw_places_parse reads a list of names, as gw_pairs_parse_names does, of which each or none has a
 * count: "a:2,b:3", "[::1]:2". *names are all of them. All lies in the arena. GW_EINVAL with a text
 * that says which and what is wrong, GW_ENOMEM. */
int gw_places_parse(const char *text, struct gw_arena *arena, struct gw_places *places,
                    struct gw_pairs *names, struct gw_error *error);

/* gw_places_check is GW_EINVAL, with a text, where the counts do not go with the rest of a gang:
 * they are all of its ranks, and say alone where those go. */
int gw_places_check(const struct gw_places *places, const struct gw_places_of *of,
                    struct gw_error *error);

/* gw_places_equal compares the order, too. */
bool gw_places_equal(const struct gw_places *a, const struct gw_places *b);

#endif
