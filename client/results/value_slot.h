/* Value slots: where a future's values lie, and its failure. */
#ifndef GW_CLIENT_VALUE_SLOT_H
#define GW_CLIENT_VALUE_SLOT_H

#include <gangway/value.h>
#include <stdbool.h>
#include <stdint.h>

/* Where a future's values lie. */
enum gw_value_slot_kind {
    GW_VALUE_SLOT_NONE = 0,
    GW_VALUE_SLOT_SMALL,  /* in the future itself */
    GW_VALUE_SLOT_HEAP,   /* encoded bytes in an allocation */
    GW_VALUE_SLOT_REMOTE, /* in the cluster: to be fetched */
    GW_VALUE_SLOT_VALUE,  /* fetched: a value */
    GW_VALUE_SLOT_RANKS,  /* a gang: one result a rank */
    GW_VALUE_SLOT_ERROR,  /* failed: struct gw_failure */
    GW_VALUE_SLOT_CLOSED, /* failed with the connection */
};

struct gw_value_slot {
    union {
        uint8_t small[16];
        uint8_t *heap;
        struct gw_value *value;
        struct gw_rank_value_slots *ranks;
        struct gw_failure *failure;
    };
    uint32_t size; /* SMALL, HEAP */
    uint8_t kind;  /* enum gw_value_slot_kind */
};

struct gw_rank_value_slots {
    uint32_t missing;
    struct gw_value_slot items[];
};

struct gw_failure {
    int code, exit_code;
    uint64_t attempt;
    char text[];
};

/* A value that came in: an object; or encoded bytes; or neither, and it lies in the cluster. */
struct gw_landing {
    struct gw_value *value; /* borrowed */
    const void *encoded;    /* borrowed */
    uint32_t bytes;
};

/* gw_value_slot_failure_new copies a text; NULL when out of memory (set_failure accepts it). */
struct gw_failure *gw_value_slot_failure_new(int code, int exit_code, uint64_t attempt,
                                             const char *text);

/* gw_value_slot_set copies a value in; false when out of memory. gw_value_slot_clear frees what a
 * result holds and makes it NONE. */
bool gw_value_slot_set(struct gw_value_slot *result, const struct gw_landing *from);
void gw_value_slot_clear(struct gw_value_slot *result, uint32_t ranks);

#endif
