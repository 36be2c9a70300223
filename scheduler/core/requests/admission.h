/* Admission: what the policy says about a job that is being submitted. */
#ifndef GW_SCHEDULER_CORE_REQUESTS_ADMISSION_H
#define GW_SCHEDULER_CORE_REQUESTS_ADMISSION_H

#include "scheduler/core/model/state.h"

/* gw_sched_admission_check decides whether a spec of a job may be submitted, and fills in what the
 * client left out: the account and the queue of the job (in its first spec), and what the queue
 * says about the time limit, the priority and the workers. The texts that it fills in live as long
 * as the policy. Without a policy it only refuses a spec that names an account or a queue.
 *
 * Rules. A user may use the account to which the user belongs, and all accounts below it; an admin,
 * all accounts. A job that a task submits is in the account of the task's job. Without a time
 * limit, a task gets the default of its queue, and at most the limits of queue and account. Returns
 * GW_EPERM, GW_ENOENT, GW_EINVAL, GW_ELIMIT or GW_EINFEASIBLE with a text that says what to do. */
int gw_sched_admission_check(const struct gw_sched *sched, const struct gw_session *session,
                             const struct gw_job *job, struct gw_msg_spec *spec,
                             struct gw_error *error);

/* gw_sched_admission_check_value decides whether a client may scatter one more value. Returns
 * GW_EPERM if the user is in no account, or GW_ELIMIT if the account stores too much. */
int gw_sched_admission_check_value(const struct gw_sched *sched, const struct gw_session *session,
                                   struct gw_error *error);

#endif
