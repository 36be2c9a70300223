/* Tasks that are prefetched to the worker that runs their dependency, and that need other slots
 * than the dependency. */
#ifndef GW_TESTS_SIM_ACROSS_H
#define GW_TESTS_SIM_ACROSS_H

#include "tests/sim/sim.h"

/* sim_across_assigned: the scheduler assigns tasks. sim_across_killed: it takes some of them back.
 */
void sim_across_assigned(struct sim *sim, const struct gw_msg_assign *assign);
void sim_across_killed(struct sim *sim, const struct gw_msg_kill *kill);

#endif
