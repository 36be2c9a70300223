/* Tasks that their worker was told to end. */
#ifndef GW_TESTS_SIM_CANCELLED_H
#define GW_TESTS_SIM_CANCELLED_H

#include "tests/sim/sim.h"

/* sim_cancelled_hear: a worker is about to take a message of its scheduler; a runner in whose queue
 * it ends something may die then. sim_cancelled_given: it gives a runner work. */
void sim_cancelled_hear(struct sim *sim, struct host *host, const struct gw_message *message);
void sim_cancelled_given(struct sim *sim, const struct host *host,
                         const struct gw_msg_assign *assign);

/* sim_cancelled_died: a runner died with what it had. sim_cancelled_drop: the worker has ended. */
void sim_cancelled_died(struct sim *sim, const struct process *process);
void sim_cancelled_drop(struct host *host);

#endif
