/* The pure tasks of all jobs; see jobs/pure.h. */
#ifndef GW_SCHEDULER_CORE_PURES_H
#define GW_SCHEDULER_CORE_PURES_H

#include "graph/base/array.h"
#include "graph/base/map.h"

/* The fact that a row of a detached job has the result of a row of another job. */
struct gw_pure_share {
    uint32_t index;
    struct gw_job *job; /* the original */
    uint32_t row;
};

struct gw_pures {
    struct gw_map by_digest;      /* digest.low -> struct gw_pure * */
    struct gw_pure *first, *last; /* with kept results, the last used first */
    uint32_t retained;
    uint64_t retained_bytes;
    GW_ARRAY(struct gw_pure_share) shares; /* of the detached job that is accepted next, by row */
};

#endif
