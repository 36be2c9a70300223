/* A set of small numbers that gives its smallest one fast: bits with summaries above them.
 *
 * Zero-initialised is empty. Aborts when out of memory. Not thread-safe. */
#ifndef GW_SCHEDULER_CORE_BITS_H
#define GW_SCHEDULER_CORE_BITS_H

#include <stdbool.h>
#include <stdint.h>

enum { GW_BITS_LEVELS_MAX = 6 };

struct gw_bits {
    uint64_t *level[GW_BITS_LEVELS_MAX]; /* 0: the members; above: which words below are not 0 */
    uint32_t levels;
    uint32_t capacity; /* numbers below it can be members */
    uint32_t count;
};

/* gw_bits_deinit frees all; the set is empty and usable again. */
void gw_bits_deinit(struct gw_bits *bits);

/* gw_bits_reserve makes room for the numbers below `capacity`. */
void gw_bits_reserve(struct gw_bits *bits, uint32_t capacity);

/* gw_bits_set and gw_bits_clear add and remove i (below the capacity), member or not. */
void gw_bits_set(struct gw_bits *bits, uint32_t i);
void gw_bits_clear(struct gw_bits *bits, uint32_t i);

/* gw_bits_test tells whether i is a member. */
bool gw_bits_test(const struct gw_bits *bits, uint32_t i);

/* gw_bits_first gives the smallest member; the set must not be empty. */
uint32_t gw_bits_first(const struct gw_bits *bits);

/* gw_bits_near gives the next member behind i where it lies close by, else i: a hint. */
uint32_t gw_bits_near(const struct gw_bits *bits, uint32_t i);

#endif
