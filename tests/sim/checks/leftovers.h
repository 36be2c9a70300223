/* Orphaned files in workers' folders; see leftovers.c. */
#ifndef GW_TESTS_SIM_LEFTOVERS_H
#define GW_TESTS_SIM_LEFTOVERS_H

#include "tests/sim/sim.h"

/* sim_leftovers_tell: a host has received a message; it answers a welcome. sim_leftovers_take: it
 * receives the jobs whose files it may remove. */
void sim_leftovers_tell(struct sim *sim, struct host *host, const struct gw_message *message);
void sim_leftovers_take(struct sim *sim, const struct host *host,
                        const struct gw_msg_leftovers *unknown);

#endif
