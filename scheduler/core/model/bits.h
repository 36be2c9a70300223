/* A set of small numbers that finds its smallest member fast: a bit set with summary levels.
 *
 * A zero-initialised set is empty. Functions abort if memory runs out. Not thread-safe. */
#ifndef GW_SCHEDULER_CORE_BITS_H
#define GW_SCHEDULER_CORE_BITS_H

#include <stdbool.h>
#include <stdint.h>

enum { GW_BITS_LEVELS_MAX = 6 };

struct gw_bits {
    /* Level 0: the members; above: which words below are not 0. */
    uint64_t *level[GW_BITS_LEVELS_MAX];
    uint32_t levels;
    uint32_t capacity; /* all members are smaller than this */
    uint32_t count;
};

/* gw_bits_deinit frees the memory. The set is empty and can be used again. */
void gw_bits_deinit(struct gw_bits *bits);

/* gw_bits_reserve makes room for the numbers below `capacity`. */
void gw_bits_reserve(struct gw_bits *bits, uint32_t capacity);

/* gw_bits_set and gw_bits_clear add and remove i, which must be below the capacity. i may already
 * be, or not be, a member. */
void gw_bits_set(struct gw_bits *bits, uint32_t i);
void gw_bits_clear(struct gw_bits *bits, uint32_t i);

/* gw_bits_test returns true if i is a member. */
bool gw_bits_test(const struct gw_bits *bits, uint32_t i);

/* gw_bits_first returns the smallest member. The set must not be empty. */
uint32_t gw_bits_first(const struct gw_bits *bits);

/* gw_bits_below returns the number of members below i. */
uint32_t gw_bits_below(const struct gw_bits *bits, uint32_t i);

/* gw_bits_near returns the next member after i if it is close, else i. The result is only a hint.
 */
uint32_t gw_bits_near(const struct gw_bits *bits, uint32_t i);

#endif
