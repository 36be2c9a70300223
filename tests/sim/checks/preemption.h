/* Checks of preemptions. */
#ifndef GW_TESTS_SIM_PREEMPTION_H
#define GW_TESTS_SIM_PREEMPTION_H

#include "tests/sim/sim.h"

/* sim_preemption_before: the scheduler is about to process an event. sim_preemption_stepped: it has
 * processed it. */
void sim_preemption_before(struct sim *sim);
void sim_preemption_stepped(struct sim *sim);
void sim_preemption_free(struct sim *sim);

/* sim_preemption_print prints what happened in all seeds, and returns how many of these numbers
 * are 0. */
int sim_preemption_print(void);

#endif
