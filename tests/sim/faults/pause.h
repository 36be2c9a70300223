/* Detached jobs that are paused, and go on: what was answered holds, over all lives. */
#ifndef GW_SIM_PAUSE_H
#define GW_SIM_PAUSE_H

#include "tests/sim/sim.h"

/* sim_pause_plan has jobs paused, in some seeds; sim_pause_stepped: the scheduler has made a step,
 * whose effects are not carried out yet. */
void sim_pause_plan(struct sim *sim);
void sim_pause_stepped(struct sim *sim);
void sim_pause_free(struct sim *sim);

#endif
