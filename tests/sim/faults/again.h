/* Checks that a retry also runs the failed dependencies again. */
#ifndef GW_SIM_AGAIN_H
#define GW_SIM_AGAIN_H

#include "tests/sim/sim.h"

/* sim_again_assigned: the scheduler assigns tasks. sim_again_failed: the scheduler reports to a
 * client that one of its tasks failed. */
void sim_again_assigned(struct sim *sim, const struct gw_msg_assign *assign);
void sim_again_failed(struct sim *sim, const struct client *client,
                      const struct gw_msg_failed *failed);
void sim_again_free(struct sim *sim);

#endif
