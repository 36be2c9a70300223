/* Tasks that are handed over to the worker of what they wait for, and take other slots than it. */
#ifndef GW_TESTS_SIM_ACROSS_H
#define GW_TESTS_SIM_ACROSS_H

#include "tests/sim/sim.h"

/* sim_across_assigned and sim_across_killed: the scheduler gives out tasks, and takes some back. */
void sim_across_assigned(struct sim *sim, const struct gw_msg_assign *assign);
void sim_across_killed(struct sim *sim, const struct gw_msg_kill *kill);

#endif
