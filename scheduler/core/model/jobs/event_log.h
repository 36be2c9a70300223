/* The event log: what became true of tasks, and when, for people. Nothing is decided by it.
 *
 * A ring of the latest facts of all jobs. Of a job of up to GW_LOGGED_TASKS_MAX tasks every fact is
 * told; of a larger one what is unusual (failures, retries, recalls, cancels, losses), and what its
 * tasks did that ran for GW_LOGGED_SLOW_NS or longer. So a bag of a million short tasks costs a
 * comparison a fact, and pushes nobody else's facts out. */
#ifndef GW_SCHEDULER_CORE_EVENT_LOG_H
#define GW_SCHEDULER_CORE_EVENT_LOG_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

struct gw_cancel {
    bool hard;       /* no grace */
    uint32_t reason; /* enum gw_kill_reason */
    const char *by;  /* for people: who, or what for; NULL: nobody needs it any more */
};

/* gw_sched_event_log_whole tells whether every fact of a job is told. */
static inline bool gw_sched_event_log_whole(const struct gw_job *job)
{
    return job->tasks.count <= GW_LOGGED_TASKS_MAX && !job->calls_of &&
           (!job->range || job->range->count <= GW_LOGGED_TASKS_MAX);
}

/* gw_sched_event_log_add tells one fact, now where at_ns is 0; `text` is copied. Of a job that is
 * not told whole, no more than GW_LOGGED_UNUSUAL_MAX are. For apply functions. */
void gw_sched_event_log_add(struct gw_sched *sched, struct gw_job *job,
                            const struct gw_logged *fact);

/* GW_LOG_EVENT_USUAL tells a fact of a job that is told whole; GW_LOG_EVENT of any job. */
#define GW_LOG_EVENT(sched, job, ...)                                                              \
    gw_sched_event_log_add((sched), (job), &(const struct gw_logged){__VA_ARGS__})
#define GW_LOG_EVENT_USUAL(sched, job, ...)                                                        \
    do {                                                                                           \
        if (gw_sched_event_log_whole(job))                                                         \
            GW_LOG_EVENT((sched), (job), __VA_ARGS__);                                             \
    } while (0)

/* gw_sched_event_log_placed tells of the attempt at a place of the table that it came there, in a
 * job that is told whole; gw_sched_event_log_gang of all of a gang's. */
void gw_sched_event_log_placed(struct gw_sched *sched, uint32_t slot);
void gw_sched_event_log_gang(struct gw_sched *sched, const struct gw_gang_attempt *gang);

struct gw_cancel;

/* gw_sched_event_log_cancel tells who wants a task, or (GW_INDEX_ALL) a job, to end. */
void gw_sched_event_log_cancel(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                               const struct gw_cancel *cancel);

/* gw_sched_event_log_tell_attempt_ended and gw_sched_event_log_tell_task_ended tell of an end; the
 * inline functions below call them if the end is worth it. */
void gw_sched_event_log_tell_attempt_ended(struct gw_sched *sched, const struct gw_attempt *attempt,
                                           const struct gw_fact_attempt_ended *fact);
void gw_sched_event_log_tell_task_ended(struct gw_sched *sched, struct gw_job *job,
                                        const struct gw_fact_task_ended *fact);

/* gw_sched_event_log_attempt_ended is told of each attempt that ends, while it still is there;
 * gw_sched_event_log_task_ended of each task that does, behind it. Most are not worth a call. */
static inline void gw_sched_event_log_attempt_ended(struct gw_sched *sched,
                                                    const struct gw_attempt *attempt,
                                                    const struct gw_fact_attempt_ended *fact)
{
    if (!fact->well || fact->run_ns >= GW_LOGGED_SLOW_NS || gw_sched_event_log_whole(attempt->job))
        gw_sched_event_log_tell_attempt_ended(sched, attempt, fact);
}

static inline void gw_sched_event_log_task_ended(struct gw_sched *sched, struct gw_job *job,
                                                 const struct gw_fact_task_ended *fact)
{
    if (fact->state != GW_TASK_DONE || fact->attempt == sched->event_log.ended_attempt ||
        gw_sched_event_log_whole(job))
        gw_sched_event_log_tell_task_ended(sched, job, fact);
}

/* gw_sched_event_log_last gives the latest fact of a kind about a row (GW_INDEX_ALL: the job as a
 * whole); NULL when there is none any more. */
const struct gw_logged *gw_sched_event_log_last(const struct gw_sched *sched,
                                                const struct gw_job *job, uint32_t index,
                                                uint32_t kind);

/* gw_sched_history_query answers the query "events" about a task, or (row < 0) all tasks of a
 * job. */
struct gw_value *gw_sched_history_query(const struct gw_sched *sched, struct gw_job *job,
                                        int64_t row);

/* gw_sched_event_log_check asserts that what was told since the last check is so, and that of every
 * attempt at a worker it was told how it came there. */
void gw_sched_event_log_check(const struct gw_sched *sched);

/* gw_sched_event_log_deinit frees all facts that were told. */
void gw_sched_event_log_deinit(struct gw_sched *sched);

#endif
