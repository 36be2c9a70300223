/* Two hosts that cannot reach each other: gangs on both cannot start, and are placed elsewhere. */
#ifndef GW_TESTS_SIM_PARTING_H
#define GW_TESTS_SIM_PARTING_H

#include "tests/sim/sim.h"

/* sim_parting_cuts returns true if a rank that joins cannot reach rank 0 of its gang. */
bool sim_parting_cuts(struct sim *sim, const struct process *process);

/* sim_parting_told: the scheduler sends a message to a worker. sim_parting_stepped: the scheduler
 * has processed an event. */
void sim_parting_told(struct sim *sim, const struct host *host, const struct gw_message *message);
void sim_parting_stepped(struct sim *sim);
void sim_parting_free(struct sim *sim);

#endif
