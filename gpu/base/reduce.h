/* Element-wise reduction of several arrays, in the order in which they are given. */
#ifndef GW_GPU_REDUCE_H
#define GW_GPU_REDUCE_H

#include <gangway/comm.h>

struct gw_reduction {
    enum gw_dtype dtype;
    enum gw_reduce reduce;
    int sources;               /* at least 1 */
    int divisor;               /* of GW_REDUCE_AVG; 0: sources */
    const void *const *source; /* [sources], each [count] from `at` on */
    int targets;               /* at least 1 */
    void *const *target;       /* [targets], each [count] from `target_at` on */
    size_t source_at;          /* elements; the same in every source */
    size_t target_at;
    size_t count;
};

/* gw_reduce_run writes source[0] . source[1] . ... into every target. A target may be one of the
 * sources (at the same place), but must not overlap one otherwise. */
void gw_reduce_run(const struct gw_reduction *reduction);

/* gw_reduce_name returns "sum" ...; static; "?" for one that is not of the list. */
const char *gw_reduce_name(enum gw_reduce reduce);

#endif
