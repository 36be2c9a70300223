/* Submission: makes jobs from the specs and chunks that clients send. */
#ifndef GW_SCHEDULER_CORE_SUBMISSION_H
#define GW_SCHEDULER_CORE_SUBMISSION_H

#include "scheduler/core/model/state.h"

/* gw_sched_on_spec and gw_sched_on_submit handle a message of a client and answer it with
 * "accepted" or "rejected". They return GW_EPROTO if the message is malformed. */
int gw_sched_on_spec(struct gw_sched *sched, struct gw_session *session,
                     const struct gw_message *message);
int gw_sched_on_submit(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_message *message);

/* gw_sched_submission_accepted and gw_sched_submission_reject send these answers. */
void gw_sched_submission_accepted(struct gw_sched *sched, const struct gw_job *job, bool quiet);
void gw_sched_submission_reject(struct gw_sched *sched, struct gw_session *session,
                                uint64_t request, const struct gw_error *error);

/* gw_sched_on_range takes a job that is one range. gw_sched_on_after takes the jobs that a job must
 * start after. */
int gw_sched_on_range(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_message *message);
int gw_sched_on_after(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_message *message);

#endif
