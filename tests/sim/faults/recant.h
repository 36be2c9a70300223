/* Calls of actors that are cancelled before they begin. */
#ifndef GW_TESTS_SIM_RECANT_H
#define GW_TESTS_SIM_RECANT_H

#include "tests/sim/sim.h"

/* sim_recant_assigned records what the scheduler assigns. sim_recant_told records the ends that a
 * worker reports. sim_recant_step delivers a message to a worker, which may have to end calls. */
void sim_recant_assigned(struct sim *sim, const struct gw_msg_assign *assign);
void sim_recant_told(struct sim *sim, struct host *host, const struct gw_message *message);
int sim_recant_step(struct sim *sim, struct host *host, struct gw_event *event);
/* sim_recant_begin: a call begins that will run long; the client of the next call may cancel that
 * one. sim_recant_long: the call has reported that it runs long. sim_recant_drop: the worker has
 * ended. */
void sim_recant_begin(struct sim *sim, struct process *process);
void sim_recant_long(struct sim *sim, struct process *process);
void sim_recant_drop(struct host *host);

#endif
