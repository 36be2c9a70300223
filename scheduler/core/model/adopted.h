/* Attempts that are adopted after a restart of the scheduler, and workers that are expected to
 * reconnect. See adopt.h and hold.h. */
#ifndef GW_SCHEDULER_CORE_ADOPTED_H
#define GW_SCHEDULER_CORE_ADOPTED_H

#include "graph/base/array.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_worker;
struct gw_resource_class;

/* An attempt (of a task or of one rank) that was already at a worker when the worker registered,
 * and that the worker reported. */
struct gw_adopted {
    struct gw_worker *worker;
    struct gw_resource_class *shape;
    uint64_t attempt;
    const uint32_t *gpus;
    uint32_t gpu_count;
    uint64_t ran_ns; /* how long it has executed; 0: not at all */
    bool ended;      /* it has ended: the report of its end follows */
    bool queued;     /* it waits in a runner process behind other attempts */
};

/* A worker that is connected, or was connected in the previous term. */
struct gw_known {
    uint64_t incarnation;
    char *name;        /* owned */
    bool awaited;      /* from the previous term, and has not reconnected */
    uint64_t until_ns; /* if the worker was lost, the time until which its processes may still use
                          its GPUs; 0: the worker was not lost */
};

/* An attempt that a registering worker reported and that waits for its dependencies to be adopted.
 */
struct gw_late_claim {
    uint64_t attempt, job;
    uint32_t index, rank, kind, world, gpu_count;
    uint32_t *gpus; /* owned */
    /* Its time of execution until then; 0: it did not execute then. */
    uint64_t ran_ns, at_ns;
    bool finished; /* its end was reported, with the values below */
    uint64_t bytes, run_ns;
    uint32_t size;
    void *value; /* owned; NULL: the worker has the result */
};

struct gw_hold {
    GW_ARRAY(struct gw_known) known; /* in the order of their connections */
    uint64_t until_ns;               /* end of the wait; 0: no jobs are held */
    uint32_t leaving;                /* number of entries of `known` with an until_ns */
};

#endif
