/* Workers that an admin drains and undrains, in some seeds. */
#ifndef GW_TESTS_SIM_WORKER_DRAIN_H
#define GW_TESTS_SIM_WORKER_DRAIN_H

#include "tests/sim/sim.h"

void sim_worker_drain_plan(struct sim *sim);

/* sim_worker_drain_told: the scheduler sends a message to this peer. sim_worker_drain_assigned: it
 * gives a worker work. sim_worker_drain_crashed: the scheduler has died. */
void sim_worker_drain_told(struct sim *sim, uint64_t peer, const struct gw_message *message);
void sim_worker_drain_assigned(struct sim *sim, const struct host *host,
                               const struct gw_msg_assign *assign);
void sim_worker_drain_crashed(struct sim *sim);
void sim_worker_drain_free(struct sim *sim);

#endif
