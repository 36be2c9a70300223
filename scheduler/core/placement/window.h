/* How many tasks may queue at a worker, and which worker has the most room. */
#ifndef GW_SCHEDULER_CORE_WINDOW_H
#define GW_SCHEDULER_CORE_WINDOW_H

#include "scheduler/core/model/state.h"

struct gw_choice {
    struct gw_resource_class *shape;
    const struct gw_spec *spec;
    uint64_t bytes;       /* memory that the task is expected to use */
    bool held_back;       /* result of gw_sched_window_held_back */
    uint32_t restricts;   /* the set of reservations whose room the task may not use */
    bool instance;        /* consider only workers with a free MIG instance */
    uint32_t unaffording; /* number of workers that lack only memory */
    uint32_t avoided;     /* worker id on which the task failed, or 0 */
    uint64_t epoch;
    struct gw_worker *workers[GW_DATA_WORKERS_MAX]; /* workers with inputs */
    uint32_t count;
};

/* gw_sched_window returns how many tasks of a spec may be at one slot, including the running task.
 * The result is 1 for tasks that are long or not known to be short. */
uint32_t gw_sched_window(const struct gw_sched *sched, struct gw_spec *spec);

/* gw_sched_window_most_free returns the worker with the most free slots that has room for one more
 * task of a resource class besides reserved room, or NULL. */
struct gw_worker *gw_sched_window_most_free(struct gw_sched *sched,
                                            struct gw_resource_class *shape);

/* gw_sched_window_takes returns true if a worker has room and memory for the task of a choice (arg:
 * struct gw_choice). It counts the worker if only memory is missing. */
bool gw_sched_window_takes(const struct gw_sched *sched, const struct gw_worker *worker, void *arg);

/* gw_sched_window_choose returns the worker with the most free slots that has room for the task of
 * a choice, or NULL. Workers with reserved room are included if a reservation does not restrict
 * the task. */
struct gw_worker *gw_sched_window_choose(struct gw_sched *sched, struct gw_choice *choice);

/* gw_sched_window_held_back returns true if a task would only use more memory, while ready tasks
 * of the same job would free memory. */
bool gw_sched_window_held_back(const struct gw_queue *queue, uint32_t row);

#endif
