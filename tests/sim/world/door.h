/* What a command's ranks need of their hosts before any of them starts. */
#ifndef GW_SIM_DOOR_H
#define GW_SIM_DOOR_H

#include "tests/sim/sim.h"

/* sim_door_look answers a look. sim_door_port is the port that a host keeps for the rank at a
 * place. sim_door_started checks what a command's rank is started with. */
void sim_door_look(struct sim *sim, struct host *host, const struct gw_effect *effect);
/* sim_door_row is what a command that is started runs. */
struct row sim_door_row(struct sim *sim, struct host *host, const struct gw_msg_spawn *spawn);
uint32_t sim_door_port(const struct host *host, uint32_t place);
void sim_door_started(struct sim *sim, const struct process *process,
                      const struct gw_msg_spawn *spawn);
/* sim_door_taken: a stranger has the port that a process, rank 0, is to bind, and it fails for
 * that. sim_door_ended has its host say so with its end. */
bool sim_door_taken(struct sim *sim, const struct process *process);
void sim_door_ended(struct sim *sim, struct gw_message *message);

#endif
