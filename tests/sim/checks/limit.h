/* Limits that users give: how long something may run or be silent, and how many at a time. */
#ifndef GW_SIM_LIMIT_H
#define GW_SIM_LIMIT_H

#include "tests/sim/sim.h"

#define SIM_GRACE_NS (50 * MS) /* of every spec */

/* sim_limit_begin: a process begins with its first row; sim_limit_exit: it exits, whyever.
 * sim_limit_told: its worker says how an attempt ended. sim_limit_assigned: the scheduler gives out
 * tasks. */
void sim_limit_begin(struct sim *sim, const struct process *process);
void sim_limit_exit(struct sim *sim, const struct process *process);
void sim_limit_told(struct sim *sim, const struct gw_msg_ended *ended);
void sim_limit_assigned(struct sim *sim, const struct gw_msg_assign *assign);
void sim_limit_free(struct sim *sim);

/* sim_limit_job is the job that a client was promised by this number, or knows by it while its
 * chunks are still under way; NULL: there is none. */
struct sim_job *sim_limit_job(const struct sim *sim, uint64_t id);

#endif
