/* GPUs on which nothing may be placed: those that are drained, and those that rest. */
#ifndef GW_TESTS_SIM_DRAIN_H
#define GW_TESTS_SIM_DRAIN_H

#include "tests/sim/sim.h"

/* sim_drain_plan has the admin drain GPUs and give them back, in some seeds. sim_drain_ask: it asks
 * for that; the GPU is replaced by then. */
void sim_drain_plan(struct sim *sim);
void sim_drain_ask(struct sim *sim, struct host *host, uint32_t number, bool drain);

/* sim_drain_heard: the scheduler has taken what a worker said of its GPUs, or of itself, or what a
 * client asks of them. sim_drain_told: it says something to a client; sim_drain_stepped: its step
 * is over. */
void sim_drain_heard(struct sim *sim, const struct host *host, const struct client *client,
                     const struct gw_message *message);
void sim_drain_told(struct sim *sim, const struct client *client, const struct gw_message *message);
void sim_drain_stepped(struct sim *sim);

/* sim_drain_assigned: it gives a worker work. sim_drain_alone: a process has begun on a GPU. */
void sim_drain_assigned(struct sim *sim, const struct conn *conn,
                        const struct gw_msg_assign *assign);
void sim_drain_alone(struct sim *sim, const struct process *process, uint32_t gpu);

/* sim_drain_crashed: the scheduler died, and what its facts say is all that is left of it. */
void sim_drain_crashed(struct sim *sim);
void sim_drain_free(struct sim *sim);

#endif
