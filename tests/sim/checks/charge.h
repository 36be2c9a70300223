/* The budgets that ends of attempts count against, in all terms of the scheduler; see charge.c. */
#ifndef GW_TESTS_SIM_CHARGE_H
#define GW_TESTS_SIM_CHARGE_H

#include "tests/sim/sim.h"

/* sim_charge_stepped checks the decisions of a step before its effects are executed. */
void sim_charge_stepped(struct sim *sim);
/* sim_charge_adopted: a scheduler has taken over an attempt of an earlier term. sim_charge_crashed:
 * the scheduler has died, and the facts after sim->facts are lost. */
void sim_charge_adopted(struct sim *sim, uint64_t job, uint32_t index, uint64_t attempt);
/* sim_charge_decided returns true if the attempt was decided, so that no scheduler may take it
 * over. */
bool sim_charge_decided(struct sim *sim, uint64_t attempt);
void sim_charge_crashed(struct sim *sim);
void sim_charge_free(struct sim *sim);

#endif
