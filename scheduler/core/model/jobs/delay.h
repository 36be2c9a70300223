/* Tasks that wait before they run again. */
#ifndef GW_SCHEDULER_CORE_JOBS_DELAY_H
#define GW_SCHEDULER_CORE_JOBS_DELAY_H

#include "scheduler/core/model/state.h"

/* A task that waits before it is tried again, at this try. */
struct gw_delay {
    uint64_t due_ns, job;
    uint32_t index;
    uint16_t tries;
};

struct gw_delays {
    struct gw_delay *items;
    size_t count, capacity;
};

/* gw_sched_delays_take empties the heap, and returns those entries of which a task still waits, to
 * be freed by the caller. */
struct gw_delays gw_sched_delays_take(struct gw_sched *sched);

/* gw_sched_delay_job returns the job of an entry's task; NULL: the task waits no more, or for a
 * later restart. */
struct gw_job *gw_sched_delay_job(const struct gw_sched *sched, const struct gw_delay *delay);

/* gw_sched_delay_rest_ns is how much longer a task waits after a restart of the scheduler. before:
 * its entry, due by the time of day. It is at most the whole delay: that clock may have been set.
 */
uint64_t gw_sched_delay_rest_ns(const struct gw_sched *sched, const struct gw_job *job,
                                const struct gw_delay *before);

/* gw_sched_delay_ns is how long a task waits before its next try, by what is charged to it: the
 * spec's backoff, doubled with each charge, GW_BACKOFF_NS_MAX at most. */
uint64_t gw_sched_delay_ns(const struct gw_spec *spec, const struct gw_charges *charges);

/* gw_sched_delay_push adds a copy of an entry to the heap of delays. */
void gw_sched_delay_push(struct gw_sched *sched, const struct gw_delay *delay);

#endif
