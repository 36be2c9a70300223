/* Commands that wait in a supervisor for an earlier process to end, and the arguments that identify
 * a task. */
#ifndef GW_SIM_TURN_H
#define GW_SIM_TURN_H

#include "tests/sim/world/door.h"

/* sim_turn_wait makes a new process wait for process `behind`. It returns false if behind is 0. */
bool sim_turn_wait(struct sim *sim, struct process *process, uint64_t behind);
/* sim_turn_come: a process ends, and the process that waited for it starts. */
void sim_turn_come(struct sim *sim, const struct process *process);
/* sim_turn_reap: a waiting process is cancelled. It returns false if the process does not wait. */
bool sim_turn_reap(struct sim *sim, struct process *process);
/* sim_turn_lost: the supervisor of a process may die together with the process. */
void sim_turn_lost(struct sim *sim, const struct process *process);

/* sim_turn_args appends the arguments of a task and returns their size. The arguments contain the
 * number of the task; for commands it is in a list, so that many commands share a spec.
 * sim_turn_work reads the number. */
uint32_t sim_turn_args(const struct work *work, struct gw_buffer *args);
uint64_t sim_turn_work(const uint8_t *args, uint32_t bytes);

/* Functions of process.c: */
void sim_process_up(struct sim *sim, struct process *process);
void sim_process_remove(struct sim *sim, struct process *process);
void sim_process_supervisor(struct sim *sim, struct host *host, struct gw_message *message);

#endif
