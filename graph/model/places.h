/* Places: on which workers the ranks of a gang run, and how many on each, in the order of the
 * ranks: "a:2,b:3". */
#ifndef GW_MODEL_PLACES_H
#define GW_MODEL_PLACES_H

#include "graph/model/pairs.h"

#define GW_PLACES_RANKS_MAX 65535 /* maximum number of ranks at one place */

struct gw_places {
    const struct gw_places_item {
        const char *name; /* name of a worker or a host */
        uint32_t ranks;   /* number of ranks, at least 1 */
    } * items;            /* in the order of the text; at most GW_PAIRS_MAX; no name twice */
    uint32_t count;       /* 0: the list has names without counts, or is empty */
};

/* The options of a gang that must agree with its places. */
struct gw_places_of {
    uint32_t ranks, ranks_per_node, min_ranks;
    bool spread, prefer;
};

/* gw_places_parse parses a list of names in the format of gw_pairs_parse_names. Either all names
 * have a count or none has: "a:2,b:3", "[::1]:2". *names receives all names. All memory is in the
 * arena. Returns GW_EINVAL with a text that names the item and the error, or GW_ENOMEM. */
int gw_places_parse(const char *text, struct gw_arena *arena, struct gw_places *places,
                    struct gw_pairs *names, struct gw_error *error);

/* gw_places_check returns GW_EINVAL with a text if the counts contradict other options of the gang.
 * The sum of the counts must be the number of ranks, and no other option may influence the
 * placement. */
int gw_places_check(const struct gw_places *places, const struct gw_places_of *of,
                    struct gw_error *error);

/* gw_places_equal compares two lists of places, including their order. */
bool gw_places_equal(const struct gw_places *a, const struct gw_places *b);

#endif
