/* The outbox collects the effects of the current step. Rows of frequent messages are collected for
 * each peer and sent at the end of the step in this order: releases, kills, done, assign. */
#ifndef GW_SCHEDULER_CORE_OUTBOX_H
#define GW_SCHEDULER_CORE_OUTBOX_H

#include "scheduler/core/model/state.h"

/* gw_sched_outbox_begin empties the effects for a new step. gw_sched_outbox_flush sends all
 * collected rows. */
void gw_sched_outbox_begin(struct gw_sched *sched, struct gw_effects *effects);
void gw_sched_outbox_flush(struct gw_sched *sched);

/* gw_sched_outbox_drop_token drops a token, which stands for the file descriptor of a value or of a
 * gang. */
void gw_sched_outbox_drop_token(struct gw_sched *sched, uint64_t token);

struct gw_release_row {
    uint64_t job;
    uint32_t index, rank;
};

/* gw_sched_outbox_release tells a worker that an object is no longer needed. */
void gw_sched_outbox_release(struct gw_sched *sched, struct gw_worker *worker,
                             const struct gw_release_row *row);

struct gw_kill_row {
    uint64_t attempt, grace_ns;
    uint32_t reason;
};

/* gw_sched_outbox_kill tells a worker to end an attempt. */
void gw_sched_outbox_kill(struct gw_sched *sched, struct gw_worker *worker,
                          const struct gw_kill_row *row);

/* gw_sched_outbox_assign adds the row of an attempt. Messages that the worker needs before the row
 * are sent first. */
void gw_sched_outbox_assign(struct gw_sched *sched, uint32_t slot);

/* gw_sched_outbox_done adds the rows of a task that ended well, one for each rank, for the session
 * `to`. */
void gw_sched_outbox_done(struct gw_sched *sched, const struct gw_hearer *to, struct gw_job *job,
                          uint32_t row);

/* gw_sched_outbox_failed tells a client that a task failed. If the last message to this client
 * reports the same failure, only the index of the task is added to it. This keeps messages small if
 * a million tasks fail for one reason. */
void gw_sched_outbox_failed(struct gw_sched *sched, struct gw_remote *remote,
                            const struct gw_msg_failed *failed);

/* gw_sched_outbox_release_task tells the workers with results of a task that these are no longer
 * needed, and drops the tokens of the results. */
void gw_sched_outbox_release_task(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_outbox_control sends a command (GW_CONTROL_*, model/jobs/gang.h) to a running gang: to
 * the worker of rank 0 if the gang runs a function, otherwise to every worker that has a rank. */
void gw_sched_outbox_control(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                             uint32_t command);

#endif
