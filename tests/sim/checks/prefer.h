/* Preferred workers; see prefer.c. */
#ifndef GW_TESTS_SIM_PREFER_H
#define GW_TESTS_SIM_PREFER_H

#include "tests/sim/sim.h"

/* sim_prefer_assigned: the scheduler has assigned work to a host, and its step has ended. */
void sim_prefer_assigned(struct sim *sim, const struct host *to,
                         const struct gw_msg_assign *assign);

#endif
