/* Checks and ports that the ranks of a command need on their hosts before any of them starts. */
#ifndef GW_SIM_DOOR_H
#define GW_SIM_DOOR_H

#include "tests/sim/sim.h"

/* sim_door_look answers a LOOK effect. */
void sim_door_look(struct sim *sim, struct host *host, const struct gw_effect *effect);
/* sim_door_row returns the row that a new command process runs. sim_door_port returns the port that
 * a host reserves for the rank at an index. sim_door_started checks the environment of a command's
 * rank. */
struct row sim_door_row(struct sim *sim, struct host *host, const struct gw_msg_spawn *spawn);
uint32_t sim_door_port(const struct host *host, uint32_t place);
void sim_door_started(struct sim *sim, const struct process *process,
                      const struct gw_msg_spawn *spawn);
/* sim_door_taken: returns true if a stranger has taken the port of rank 0, so that the process
 * fails. sim_door_ended adds this to the `ended` message of its host. */
bool sim_door_taken(struct sim *sim, const struct process *process);
void sim_door_ended(struct sim *sim, struct gw_message *message);

#endif
