/* What ends of attempts are charged to, over all lives of the scheduler; see charge.c. */
#ifndef GW_TESTS_SIM_CHARGE_H
#define GW_TESTS_SIM_CHARGE_H

#include "tests/sim/sim.h"

/* sim_charge_stepped looks at what a step has decided, before any of its effects is carried out. */
void sim_charge_stepped(struct sim *sim);
/* sim_charge_adopted: a life has taken over an attempt of another. sim_charge_crashed: the
 * scheduler is dead; what it wrote beyond sim->facts is lost. */
void sim_charge_adopted(struct sim *sim, uint64_t job, uint32_t index, uint64_t attempt);
/* sim_charge_decided: nobody may take over an attempt any more. */
bool sim_charge_decided(struct sim *sim, uint64_t attempt);
void sim_charge_crashed(struct sim *sim);
void sim_charge_free(struct sim *sim);

#endif
