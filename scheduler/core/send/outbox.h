/* The outbox: effects of the step under way. Rows of hot messages gather by peer and leave at its
 * end, in this order: releases, kills, done, assign. */
#ifndef GW_SCHEDULER_CORE_OUTBOX_H
#define GW_SCHEDULER_CORE_OUTBOX_H

#include "scheduler/core/model/state.h"

/* gw_sched_outbox_begin empties the step's effects; gw_sched_outbox_flush sends all rows. */
void gw_sched_outbox_begin(struct gw_sched *sched, struct gw_effects *effects);
void gw_sched_outbox_flush(struct gw_sched *sched);

/* gw_sched_outbox_drop_token gives up a token, which stands for a descriptor: of a value or of a
 * gang. */
void gw_sched_outbox_drop_token(struct gw_sched *sched, uint64_t token);

struct gw_release_row {
    uint64_t job;
    uint32_t index, rank;
};

/* gw_sched_outbox_release tells a worker that nobody needs an object any more. */
void gw_sched_outbox_release(struct gw_sched *sched, struct gw_worker *worker,
                             const struct gw_release_row *row);

struct gw_kill_row {
    uint64_t attempt, grace_ns;
    uint32_t reason;
};

/* gw_sched_outbox_kill tells a worker to end an attempt. */
void gw_sched_outbox_kill(struct gw_sched *sched, struct gw_worker *worker,
                          const struct gw_kill_row *row);

/* gw_sched_outbox_assign adds the row of an attempt, after what its worker must know before. */
void gw_sched_outbox_assign(struct gw_sched *sched, uint32_t slot);

/* gw_sched_outbox_done adds the rows of a finished task, one a rank, for who holds it. */
void gw_sched_outbox_done(struct gw_sched *sched, const struct gw_hearer *to, struct gw_job *job,
                          uint32_t row);

/* gw_sched_outbox_failed tells that a target failed. Of one that the same was told of last it adds
 * the index alone: of a million that fail by one cause, nobody wants a million texts. */
void gw_sched_outbox_failed(struct gw_sched *sched, struct gw_remote *remote,
                            const struct gw_msg_failed *failed);

/* gw_sched_outbox_release_task tells holders that nobody needs a task's results, and drops its
 * token. */
void gw_sched_outbox_release_task(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_outbox_control sends a command to a gang that runs (GW_CONTROL_*, model/jobs/gang.h): to
 * rank 0's worker if it runs a function, else to each worker that has a rank. */
void gw_sched_outbox_control(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                             uint32_t command);

#endif
