/* Element-wise reduction of several arrays, in the order of the arrays. */
#ifndef GW_GPU_REDUCE_H
#define GW_GPU_REDUCE_H

#include <gangway/comm.h>

struct gw_reduction {
    enum gw_dtype dtype;
    enum gw_reduce reduce;
    int sources;               /* number of input arrays, at least 1 */
    int divisor;               /* divisor of GW_REDUCE_AVG; 0: `sources` */
    const void *const *source; /* [sources], each with `count` elements from element source_at on */
    int targets;               /* number of output arrays, at least 1 */
    void *const *target;       /* [targets], each with `count` elements from element target_at on */
    size_t source_at;          /* first element to read, the same in every source */
    size_t target_at;
    size_t count;
};

/* gw_reduce_run reduces source[0], source[1], ... and writes the result to every target. A target
 * may be one of the sources (at the same offset), but must not overlap a source in any other way.
 */
void gw_reduce_run(const struct gw_reduction *reduction);

/* gw_reduce_name returns "sum" ..., or "?" for an unknown reduction. The string is static. */
const char *gw_reduce_name(enum gw_reduce reduce);

#endif
