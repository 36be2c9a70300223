/* Commands that wait in a warden for the one that it has, and what a task is known by. */
#ifndef GW_SIM_TURN_H
#define GW_SIM_TURN_H

#include "tests/sim/world/door.h"

/* sim_turn_wait has a process that was just started wait behind another; false: behind is 0. */
bool sim_turn_wait(struct sim *sim, struct process *process, uint64_t behind);
/* sim_turn_come: a process goes, and who waited behind it begins. */
void sim_turn_come(struct sim *sim, const struct process *process);
/* sim_turn_bury: who waits never begins; false: it does not wait. */
bool sim_turn_bury(struct sim *sim, struct process *process);
/* sim_turn_lost: the warden of a process may go with it. */
void sim_turn_lost(struct sim *sim, const struct process *process);

/* sim_turn_args appends the arguments of a task, and gives back how many bytes they are: its
 * number, for commands in a list, so that many commands are of one spec. sim_turn_work reads it. */
uint32_t sim_turn_args(const struct work *work, struct gw_buffer *args);
uint64_t sim_turn_work(const uint8_t *args, uint32_t bytes);

/* Of process.c: */
void sim_process_up(struct sim *sim, struct process *process);
void sim_process_remove(struct sim *sim, struct process *process);
void sim_process_guardian(struct sim *sim, struct host *host, struct gw_message *message);

#endif
