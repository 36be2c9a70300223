/* The messages of a runner about functions that failed. */
#ifndef GW_SIM_FAILURE_H
#define GW_SIM_FAILURE_H

#include "tests/sim/sim.h"

/* sim_failure returns the message about the first row of a process, which failed. The message
 * borrows row. */
struct gw_message sim_failure(const struct process *process, const struct row *row);

#endif
