/* Two hosts that do not reach each other: their ranks cannot join, and meet again elsewhere. */
#ifndef GW_TESTS_SIM_PARTING_H
#define GW_TESTS_SIM_PARTING_H

#include "tests/sim/sim.h"

/* sim_parting_cuts tells whether a rank that is to join cannot reach rank 0 of its gang. */
bool sim_parting_cuts(struct sim *sim, const struct process *process);

/* sim_parting_told: the scheduler says something to a worker; sim_parting_stepped: it has taken an
 * event. */
void sim_parting_told(struct sim *sim, const struct host *host, const struct gw_message *message);
void sim_parting_stepped(struct sim *sim);
void sim_parting_free(struct sim *sim);

#endif
