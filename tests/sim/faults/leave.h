/* Workers that are told to end: they exit when they are no longer needed. */
#ifndef GW_TESTS_SIM_LEAVE_H
#define GW_TESTS_SIM_LEAVE_H

#include "tests/sim/sim.h"

/* sim_leave_plan makes workers end, in some seeds. sim_leave_exit: the core of a worker requests
 * EXIT. */
void sim_leave_plan(struct sim *sim);
void sim_leave_exit(struct sim *sim, struct host *host);

/* sim_leave_saved: a rank 0 has saved. sim_leave_reaped: a process is told to end. sim_leave_says:
 * a worker sends a message to its scheduler. */
void sim_leave_saved(struct sim *sim, const struct process *process);
void sim_leave_reaped(struct sim *sim, struct process *process, const struct gw_msg_reap *reap);
void sim_leave_says(struct sim *sim, struct host *host, const struct gw_message *message);

/* sim_leave_heard: the scheduler is about to receive a message of a worker. sim_leave_told: the
 * scheduler sends a message to a worker. sim_leave_taken: the worker receives it. */
void sim_leave_heard(struct sim *sim, const struct host *host, const struct gw_message *message);
void sim_leave_told(struct sim *sim, const struct conn *conn, const struct gw_message *message);
void sim_leave_taken(struct host *host, const struct gw_message *message);

/* sim_leave_transferred: another host now has a checkpoint of an attempt, or `source` does not have
 * it. */
void sim_leave_transferred(struct sim *sim, const struct host *source, uint64_t attempt, int code);

#endif
