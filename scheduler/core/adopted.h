/* What is taken over from an earlier life of the scheduler, and who is waited for with it; see
 * adopt.h and hold.h. */
#ifndef GW_SCHEDULER_CORE_ADOPTED_H
#define GW_SCHEDULER_CORE_ADOPTED_H

#include "graph/base/array.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_worker;
struct gw_shape;

/* An attempt, or a rank's. */
struct gw_adopted {
    struct gw_worker *worker;
    struct gw_shape *shape;
    uint64_t attempt;
    const uint32_t *gpus;
    uint32_t gpu_count;
    bool ended; /* how is told next */
};

/* A worker that is, or was in the life before, connected. */
struct gw_known {
    uint64_t incarnation;
    char *name;   /* owned */
    bool awaited; /* it was in the life before, and has not come back */
    uint64_t
        until_ns; /* it was lost, and may have something on its GPUs until then; 0: it was not */
};

struct gw_hold {
    GW_ARRAY(struct gw_known) known; /* workers that are connected, in the order of their coming */
    uint64_t until_ns;               /* 0: nothing is held */
    uint32_t leaving;                /* of known, those with an until_ns */
};

#endif
