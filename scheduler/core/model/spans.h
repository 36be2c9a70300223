/* A set of numbers in a few runs: rows of a range that were given up before they were made.
 *
 * Zero-initialised is empty. Aborts when out of memory. Not thread-safe. */
#ifndef GW_SCHEDULER_CORE_SPANS_H
#define GW_SCHEDULER_CORE_SPANS_H

#include "graph/base/array.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_span {
    uint32_t first, end; /* end: behind the last */
};

struct gw_spans {
    GW_ARRAY(struct gw_span) runs; /* in order, none touches the next */
};

/* gw_spans_deinit frees all; the set is empty and usable again. */
void gw_spans_deinit(struct gw_spans *spans);

/* gw_spans_fits tells whether the set with n in it has at most `runs_max` runs. */
bool gw_spans_fits(const struct gw_spans *spans, uint32_t n, uint32_t runs_max);

/* gw_spans_add adds n, member or not. */
void gw_spans_add(struct gw_spans *spans, uint32_t n);

/* gw_spans_has tells whether n is a member. */
bool gw_spans_has(const struct gw_spans *spans, uint32_t n);

/* gw_spans_drop removes all members below `end`. */
void gw_spans_drop(struct gw_spans *spans, uint32_t end);

#endif
