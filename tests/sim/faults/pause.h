/* Detached jobs that are paused and resumed: an answered request holds in all later terms. */
#ifndef GW_SIM_PAUSE_H
#define GW_SIM_PAUSE_H

#include "tests/sim/sim.h"

/* sim_pause_plan makes the operator pause jobs, in some seeds. sim_pause_stepped: the scheduler has
 * made a step, and its effects were not executed yet. */
void sim_pause_plan(struct sim *sim);
void sim_pause_stepped(struct sim *sim);
void sim_pause_free(struct sim *sim);

#endif
