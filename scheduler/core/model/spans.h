/* A set of numbers as a few runs: the rows of a range that were given up before they were created.
 *
 * A zero-initialised set is empty. Functions abort if memory runs out. Not thread-safe. */
#ifndef GW_SCHEDULER_CORE_SPANS_H
#define GW_SCHEDULER_CORE_SPANS_H

#include "graph/base/array.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_span {
    uint32_t first, end; /* end: one more than the last number */
};

struct gw_spans {
    GW_ARRAY(struct gw_span) runs; /* sorted; no run touches the next */
};

/* gw_spans_deinit frees the memory. The set is empty and can be used again. */
void gw_spans_deinit(struct gw_spans *spans);

/* gw_spans_fits returns true if the set, with n added, has at most `runs_max` runs. */
bool gw_spans_fits(const struct gw_spans *spans, uint32_t n, uint32_t runs_max);

/* gw_spans_add adds n, which may already be a member. */
void gw_spans_add(struct gw_spans *spans, uint32_t n);

/* gw_spans_has returns true if n is a member. */
bool gw_spans_has(const struct gw_spans *spans, uint32_t n);

/* gw_spans_drop removes all members below `end`. */
void gw_spans_drop(struct gw_spans *spans, uint32_t end);

#endif
