/* Tasks that their worker was told to end. */
#ifndef GW_TESTS_SIM_CANCELLED_H
#define GW_TESTS_SIM_CANCELLED_H

#include "tests/sim/sim.h"

/* sim_cancelled_hear: a worker is about to receive a message of its scheduler. If it ends an
 * attempt in the queue of a runner, that runner may die now. sim_cancelled_given: the worker sends
 * work to a runner. */
void sim_cancelled_hear(struct sim *sim, struct host *host, const struct gw_message *message);
void sim_cancelled_given(struct sim *sim, const struct host *host,
                         const struct gw_msg_assign *assign);

/* sim_cancelled_died: a runner died with its queue. sim_cancelled_drop: the worker has ended. */
void sim_cancelled_died(struct sim *sim, const struct process *process);
void sim_cancelled_drop(struct host *host);

#endif
