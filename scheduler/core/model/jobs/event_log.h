/* The event log: what happened to tasks and when, for people. No decision depends on it.
 *
 * It is a ring of the latest facts of all jobs. For a job of up to GW_LOGGED_TASKS_MAX tasks, every
 * fact is logged. For a larger job, only unusual facts are logged (failures, restarts, recalls,
 * cancellations, losses), and the facts of tasks that ran for GW_LOGGED_SLOW_NS or longer. So a job
 * of a million short tasks costs one comparison for each fact, and does not push the facts of other
 * jobs out of the ring. */
#ifndef GW_SCHEDULER_CORE_EVENT_LOG_H
#define GW_SCHEDULER_CORE_EVENT_LOG_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

struct gw_cancel {
    bool hard;       /* without a grace period */
    uint32_t reason; /* enum gw_kill_reason */
    const char *by;  /* the user who asked for the cancel, or the reason, as a text for people;
                        NULL: nobody needs the task any more */
};

/* gw_sched_event_log_whole returns true if the event log stores every event of a job, and not only
 * the unusual ones. */
static inline bool gw_sched_event_log_whole(const struct gw_job *job)
{
    return job->tasks.count <= GW_LOGGED_TASKS_MAX && !job->calls_of &&
           (!job->range || job->range->count <= GW_LOGGED_TASKS_MAX);
}

/* gw_sched_event_log_add logs one fact, with the present time if at_ns is 0. `text` is copied. For
 * a job whose facts are not all logged, at most GW_LOGGED_UNUSUAL_MAX facts are logged. Only for
 * use in model/. */
void gw_sched_event_log_add(struct gw_sched *sched, struct gw_job *job,
                            const struct gw_logged *fact);

/* GW_LOG_EVENT_USUAL logs a fact only if all facts of the job are logged. GW_LOG_EVENT logs a fact
 * of any job. */
#define GW_LOG_EVENT(sched, job, ...)                                                              \
    gw_sched_event_log_add((sched), (job), &(const struct gw_logged){__VA_ARGS__})
#define GW_LOG_EVENT_USUAL(sched, job, ...)                                                        \
    do {                                                                                           \
        if (gw_sched_event_log_whole(job))                                                         \
            GW_LOG_EVENT((sched), (job), __VA_ARGS__);                                             \
    } while (0)

/* gw_sched_event_log_placed logs the placement of the attempt in this slot, if all facts of its job
 * are logged. gw_sched_event_log_gang logs the placement of a gang. */
void gw_sched_event_log_placed(struct gw_sched *sched, uint32_t slot);
void gw_sched_event_log_gang(struct gw_sched *sched, const struct gw_gang_attempt *gang);

struct gw_cancel;

/* gw_sched_event_log_cancel logs who cancels a task, or a job (GW_INDEX_ALL). */
void gw_sched_event_log_cancel(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                               const struct gw_cancel *cancel);

/* gw_sched_event_log_tell_attempt_ended and gw_sched_event_log_tell_task_ended log an end. The
 * inline functions below call them if the end deserves an entry. */
void gw_sched_event_log_tell_attempt_ended(struct gw_sched *sched, const struct gw_attempt *attempt,
                                           bool well, uint64_t run_ns);
void gw_sched_event_log_tell_task_ended(struct gw_sched *sched, struct gw_job *job,
                                        const struct gw_fact_task_ended *fact);

/* gw_sched_event_log_attempt_ended is called for each attempt that ends, before it is removed.
 * gw_sched_event_log_task_ended is called for each task that ends, after its attempt has ended.
 * Most ends need no entry, and so no call of a function. */
static inline void gw_sched_event_log_attempt_ended(struct gw_sched *sched,
                                                    const struct gw_attempt *attempt, bool well,
                                                    uint64_t run_ns)
{
    if (!well || run_ns >= GW_LOGGED_SLOW_NS || gw_sched_event_log_whole(attempt->job))
        gw_sched_event_log_tell_attempt_ended(sched, attempt, well, run_ns);
}

static inline void gw_sched_event_log_task_ended(struct gw_sched *sched, struct gw_job *job,
                                                 const struct gw_fact_task_ended *fact)
{
    if (fact->state != GW_TASK_DONE || fact->attempt == sched->event_log.ended_attempt ||
        gw_sched_event_log_whole(job))
        gw_sched_event_log_tell_task_ended(sched, job, fact);
}

/* gw_sched_event_log_last returns the latest fact of a kind about a task (GW_INDEX_ALL: about the
 * job), or NULL if the ring has none. */
const struct gw_logged *gw_sched_event_log_last(const struct gw_sched *sched,
                                                const struct gw_job *job, uint32_t index,
                                                uint32_t kind);

/* gw_sched_history_query answers the query "events" about a task, or about all tasks of a job if
 * `row` is negative. */
struct gw_value *gw_sched_history_query(const struct gw_sched *sched, struct gw_job *job,
                                        int64_t row);

/* gw_sched_event_log_check asserts that the facts since the last check match the state, and that
 * the placement of every attempt was logged. */
void gw_sched_event_log_check(const struct gw_sched *sched);

/* gw_sched_event_log_deinit frees all facts. */
void gw_sched_event_log_deinit(struct gw_sched *sched);

/* gw_sched_event_log_outcome tells how an attempt ended. */
void gw_sched_event_log_outcome(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                                const char *where, const struct gw_end *end, bool unbegun);

#endif
