/* Attempts that are over, and may be told of again: with a worker that was lost and lives on, or
 * with ranks of a gang that had not all come back. What their end meant was decided; nobody takes
 * them over after that, in this life of the scheduler or in another. */
#ifndef GW_SCHEDULER_CORE_DECIDED_H
#define GW_SCHEDULER_CORE_DECIDED_H

#include "scheduler/core/model/state.h"

/* The end of a task's attempt that did not end well, to be decided (lifecycle/task_end.h). where:
 * for people, what ended ("rank 2 on host a"). */
struct gw_task_end_cause {
    struct gw_job *job;
    uint32_t index;
    uint64_t attempt;
    const char *where;
    const struct gw_end *end;
    bool final;   /* it has no further attempt, whatever its budgets */
    bool unbegun; /* of a gang that never went, and through no fault of its own */
};

/* gw_sched_decided_note writes down that an attempt is judged now, where it may be told of again.
 * gw_sched_decided tells whether that was done. */
void gw_sched_decided_note(struct gw_sched *sched, const struct gw_task_end_cause *task_end);
bool gw_sched_decided(const struct gw_job *job, uint64_t attempt);

/* gw_sched_decided_dump appends which of a job were; gw_sched_decided_free forgets them. */
void gw_sched_decided_dump(const struct gw_job *job, struct gw_buffer *out);
void gw_sched_decided_free(struct gw_job *job);

#endif
