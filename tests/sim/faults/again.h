/* What is placed again: retries reach what failed before. */
#ifndef GW_SIM_AGAIN_H
#define GW_SIM_AGAIN_H

#include "tests/sim/sim.h"

/* sim_again_assigned: the scheduler gives out tasks. sim_again_failed: it tells a
 * client that a task of its own failed. */
void sim_again_assigned(struct sim *sim, const struct gw_msg_assign *assign);
void sim_again_failed(struct sim *sim, const struct client *client,
                      const struct gw_msg_failed *failed);
void sim_again_free(struct sim *sim);

#endif
