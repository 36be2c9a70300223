/* Questions: what clients (and workers) ask that is answered later, or by somebody else. */
#ifndef GW_SCHEDULER_CORE_QUESTION_H
#define GW_SCHEDULER_CORE_QUESTION_H

#include "scheduler/core/state.h"

/* gw_sched_reply answers a call with a code and text (error->code 0: all is well). */
void gw_sched_reply(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                    const struct gw_error *error);

/* gw_sched_job_check and gw_sched_row_check: GW_ENOENT for a job or task that is not there (any
 * more), GW_EPERM for another user's. */
int gw_sched_job_check(const struct gw_job *job, uint64_t id, uint32_t uid, struct gw_error *error);
int gw_sched_row_check(const struct gw_job *job, uint64_t id, uint32_t row, uint32_t uid,
                       struct gw_error *error);

/* gw_sched_acts_as is whose jobs a peer acts on where it asks for this one (NULL: none): its own
 * user's, and an admin or a worker, which fetches inputs, anybody's. */
uint32_t gw_sched_acts_as(const struct gw_remote *remote, const struct gw_job *job);

void gw_sched_on_wait(struct gw_sched *sched, struct gw_remote *remote,
                      const struct gw_msg_wait *wait);
void gw_sched_on_fetch(struct gw_sched *sched, struct gw_remote *remote,
                       const struct gw_msg_fetch *fetch);
void gw_sched_on_log_read(struct gw_sched *sched, struct gw_remote *remote,
                          const struct gw_msg_log_read *read);

/* gw_sched_on_object and gw_sched_on_log_data pass a worker's answer on. */
void gw_sched_on_object(struct gw_sched *sched, struct gw_worker *worker,
                        const struct gw_msg_object *object);
void gw_sched_on_log_data(struct gw_sched *sched, struct gw_worker *worker,
                          const struct gw_msg_log_data *data);

/* gw_sched_questions_settle looks again at what waits for the jobs where something changed. */
void gw_sched_questions_settle(struct gw_sched *sched);

/* gw_sched_questions_on_back has those looked at again that wait for a worker to come back: one is
 * back, or nobody is waited for any more. Called by apply functions. */
void gw_sched_questions_on_back(struct gw_sched *sched);

/* gw_sched_questions_on_placed notes that a task of the job has a worker, which can tell its output
 * from now on; gw_sched_questions_follow asks for it, behind the assignments of the same step. */
void gw_sched_questions_on_placed(struct gw_sched *sched, const struct gw_job *job);
void gw_sched_questions_follow(struct gw_sched *sched);
void gw_sched_questions_on_worker_lost(struct gw_sched *sched, uint32_t id);

/* gw_sched_questions_deinit frees them. */
void gw_sched_questions_deinit(struct gw_sched *sched);

#endif
