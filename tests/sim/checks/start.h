/* What a task or a rank finds as it begins. */
#ifndef GW_SIM_START_H
#define GW_SIM_START_H

#include "tests/sim/sim.h"

/* sim_start_check: the first row of a process begins now. */
void sim_start_check(struct sim *sim, const struct process *process);

#endif
