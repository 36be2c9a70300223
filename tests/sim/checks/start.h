/* Checks at the start of a task or a rank. */
#ifndef GW_SIM_START_H
#define GW_SIM_START_H

#include "tests/sim/sim.h"

/* sim_start_check: the first row of a process starts now. */
void sim_start_check(struct sim *sim, const struct process *process);

#endif
