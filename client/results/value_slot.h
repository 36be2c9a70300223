/* Value slots: how a future stores its values or its failure. */
#ifndef GW_CLIENT_VALUE_SLOT_H
#define GW_CLIENT_VALUE_SLOT_H

#include <gangway/value.h>
#include <stdbool.h>
#include <stdint.h>

/* How a future stores a value. */
enum gw_value_slot_kind {
    GW_VALUE_SLOT_NONE = 0,
    GW_VALUE_SLOT_SMALL,  /* in the future itself */
    GW_VALUE_SLOT_HEAP,   /* encoded bytes in an allocation */
    GW_VALUE_SLOT_REMOTE, /* in the cluster, not fetched yet */
    GW_VALUE_SLOT_VALUE,  /* a value that was fetched */
    GW_VALUE_SLOT_RANKS,  /* a gang: one slot for each rank */
    GW_VALUE_SLOT_ERROR,  /* failed: struct gw_failure */
    GW_VALUE_SLOT_CLOSED, /* failed because the connection ended */
};

struct gw_value_slot {
    union {
        uint8_t small[16];
        uint8_t *heap;
        struct gw_value *value;
        struct gw_rank_value_slots *ranks;
        struct gw_failure *failure;
    };
    uint32_t size; /* size of the bytes, if SMALL or HEAP */
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

/* A value that has arrived: an object, or encoded bytes, or neither if the value stays in the
 * cluster. */
struct gw_landing {
    struct gw_value *value; /* borrowed */
    const void *encoded;    /* borrowed */
    uint32_t bytes;
};

/* gw_value_slot_failure_new makes a failure and copies the text. Returns NULL if out of memory;
 * gw_future_group_set_failure accepts NULL. */
struct gw_failure *gw_value_slot_failure_new(int code, int exit_code, uint64_t attempt,
                                             const char *text);

/* gw_value_slot_set copies a value into a slot. Returns false if out of memory. gw_value_slot_clear
 * frees the contents of a slot and makes it NONE. */
bool gw_value_slot_set(struct gw_value_slot *result, const struct gw_landing *from);
void gw_value_slot_clear(struct gw_value_slot *result, uint32_t ranks);

#endif
