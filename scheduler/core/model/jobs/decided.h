/* Attempts that have ended for the scheduler but may be reported again, because their lost worker
 * reconnects or because some ranks of their gang had not reconnected yet. The consequences of their
 * end were decided, so no term of the scheduler adopts them. */
#ifndef GW_SCHEDULER_CORE_DECIDED_H
#define GW_SCHEDULER_CORE_DECIDED_H

#include "scheduler/core/model/state.h"

/* The bad end of an attempt, to be decided (lifecycle/task_end.h). where: what ended, for people
 * ("rank 2 on host a"). */
struct gw_task_end_cause {
    struct gw_job *job;
    uint32_t index;
    uint64_t attempt;
    const char *where;
    const struct gw_end *end;
    bool final;   /* the task must not run again, whatever its retry budgets */
    bool unbegun; /* of a gang that never started, without own fault */
};

/* gw_sched_decided_note records that the end of an attempt was decided, if the attempt may be
 * reported again. gw_sched_decided returns true if that was recorded. */
void gw_sched_decided_note(struct gw_sched *sched, const struct gw_task_end_cause *task_end);
bool gw_sched_decided(const struct gw_job *job, uint64_t attempt);

/* gw_sched_decided_dump appends a digest of the recorded attempts of a job. gw_sched_decided_free
 * removes them. */
void gw_sched_decided_dump(const struct gw_job *job, struct gw_buffer *out);
void gw_sched_decided_free(struct gw_job *job);

#endif
