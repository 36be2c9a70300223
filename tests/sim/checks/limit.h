/* Limits that users set: the run time, the inactivity timeout, and the number of tasks at a time.
 */
#ifndef GW_SIM_LIMIT_H
#define GW_SIM_LIMIT_H

#include "tests/sim/sim.h"

#define SIM_GRACE_NS (50 * MS) /* grace period of every spec */

/* sim_limit_begin: a process starts its first row. sim_limit_exit: it exits for any reason.
 * sim_limit_told: its worker reports the end of an attempt. sim_limit_assigned: the scheduler
 * assigns tasks. */
void sim_limit_begin(struct sim *sim, const struct process *process);
void sim_limit_exit(struct sim *sim, const struct process *process);
void sim_limit_told(struct sim *sim, const struct gw_msg_ended *ended);
void sim_limit_assigned(struct sim *sim, const struct gw_msg_assign *assign);
void sim_limit_free(struct sim *sim);

/* sim_limit_job returns the job with this number, or NULL. The number was sent to the client, or
 * the client knows it while it still sends chunks. */
struct sim_job *sim_limit_job(const struct sim *sim, uint64_t id);

#endif
