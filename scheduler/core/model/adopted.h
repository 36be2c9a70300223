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
    bool ended;  /* how is told next */
    bool queued; /* it waits in a process, behind others */
};

/* A worker that is, or was in the life before, connected. */
struct gw_known {
    uint64_t incarnation;
    char *name;   /* owned */
    bool awaited; /* it was in the life before, and has not come back */
    uint64_t
        until_ns; /* it was lost, and may have something on its GPUs until then; 0: it was not */
};

/* A row of a registration whose task waits for others, as its worker said it. */
struct gw_late_claim {
    uint64_t attempt, job;
    uint32_t index, rank, kind, world, gpu_count;
    uint32_t *gpus; /* owned */
    bool finished;  /* its end came meanwhile, with what follows */
    uint64_t bytes, run_ns;
    uint32_t size;
    void *value; /* owned; NULL: the worker has it */
};

struct gw_hold {
    GW_ARRAY(struct gw_known) known; /* workers that are connected, in the order of their coming */
    uint64_t until_ns;               /* 0: nothing is held */
    uint32_t leaving;                /* of known, those with an until_ns */
};

#endif
