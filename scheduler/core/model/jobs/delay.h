/* Tasks that wait for their retry delay. */
#ifndef GW_SCHEDULER_CORE_JOBS_DELAY_H
#define GW_SCHEDULER_CORE_JOBS_DELAY_H

#include "scheduler/core/model/state.h"

/* A task that waits before it is restarted. `tries` is its restart count. */
struct gw_delay {
    uint64_t due_ns, job;
    uint32_t index;
    uint16_t tries;
};

struct gw_delays {
    struct gw_delay *items;
    size_t count, capacity;
};

/* gw_sched_delays_take empties the heap and returns the entries whose tasks still wait. The caller
 * must free the array. */
struct gw_delays gw_sched_delays_take(struct gw_sched *sched);

/* gw_sched_delay_job returns the job of an entry's task, or NULL if the task does not wait any more
 * or waits for a later restart. */
struct gw_job *gw_sched_delay_job(const struct gw_sched *sched, const struct gw_delay *delay);

/* gw_sched_delay_rest_ns returns how much longer a task waits after a restart of the scheduler.
 * before: its entry, due at a wall-clock time. The result is at most the whole delay, because that
 * clock may have been changed. */
uint64_t gw_sched_delay_rest_ns(const struct gw_sched *sched, const struct gw_job *job,
                                const struct gw_delay *before);

/* gw_sched_delay_ns returns how long a task waits before its next attempt: the spec's backoff,
 * doubled with each end that counts against a budget, and at most GW_BACKOFF_NS_MAX. */
uint64_t gw_sched_delay_ns(const struct gw_spec *spec, const struct gw_charges *charges);

/* gw_sched_delay_push adds a copy of an entry to the heap. */
void gw_sched_delay_push(struct gw_sched *sched, const struct gw_delay *delay);

/* gw_sched_delay_pass makes those tasks ready whose time has come. */
void gw_sched_delay_pass(struct gw_sched *sched);

#endif
