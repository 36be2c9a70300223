/* How far a worker's queue may be filled, and which worker has most room. */
#ifndef GW_SCHEDULER_CORE_WINDOW_H
#define GW_SCHEDULER_CORE_WINDOW_H

#include "scheduler/core/model/state.h"

struct gw_choice {
    struct gw_shape *shape;
    const struct gw_spec *spec;
    uint64_t bytes;       /* that the task will take */
    bool held_back;       /* it only adds to memory, and others wait that would not */
    bool passes;          /* what is reserved does not bind it */
    bool instance;        /* only where a MIG instance is free for it */
    uint32_t unaffording; /* workers that had all but the memory */
    uint32_t avoided;     /* the id of a worker that it failed on; 0: none */
    uint64_t epoch;
    struct gw_worker *workers[GW_DATA_WORKERS_MAX]; /* that hold inputs */
    uint32_t count;
};

/* gw_sched_window is how many tasks of a spec may be at a slot, the running one included; 1 for
 * what is long, or not known to be short. */
uint32_t gw_sched_window(const struct gw_sched *sched, struct gw_spec *spec);

/* gw_sched_window_most_free is the worker with most free slots that has room for one more of a
 * shape, beside what is reserved, or NULL. */
struct gw_worker *gw_sched_window_most_free(struct gw_sched *sched, struct gw_shape *shape);

/* gw_sched_window_takes tells whether a worker has room and memory for one more of a choice (arg:
 * struct gw_choice), and counts the worker if it lacks only memory. */
bool gw_sched_window_takes(const struct gw_sched *sched, const struct gw_worker *worker, void *arg);

/* gw_sched_window_choose returns the worker with most open slots that takes one more of a choice;
 * if reservations do not bind it, a reserved worker, too. NULL: none. */
struct gw_worker *gw_sched_window_choose(struct gw_sched *sched, struct gw_choice *choice);

/* gw_sched_window_held_back tells whether a row only adds to memory while others of its job, which
 * would free some, are ready and wait. */
bool gw_sched_window_held_back(const struct gw_queue *queue, uint32_t row);

#endif
