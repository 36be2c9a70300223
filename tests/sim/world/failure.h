/* What a runner says of a function that failed. */
#ifndef GW_SIM_FAILURE_H
#define GW_SIM_FAILURE_H

#include "tests/sim/sim.h"

/* sim_failure is the message of a process whose row (borrowed as long as the message) failed. */
struct gw_message sim_failure(const struct process *process, const struct row *row);

#endif
