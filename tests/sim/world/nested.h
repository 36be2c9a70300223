/* Tasks that submit tasks, and tasks that are queued behind a task that waits or runs long. */
#ifndef GW_SIM_NESTED_H
#define GW_SIM_NESTED_H

#include "tests/sim/sim.h"

/* sim_nested_begin makes the task of a process ask for a client. It returns true if the task does
 * this; its execution then continues by sim_process_go_on. */
bool sim_nested_begin(struct sim *sim, struct process *process, int32_t execution);
/* sim_nested_link opens the connection that a worker needs for one of its tasks. */
void sim_nested_link(struct sim *sim, struct host *host, const struct gw_effect *effect);
/* sim_nested_long: a task starts that takes run_ns. If that is long, the task reports it. */
void sim_nested_long(struct sim *sim, struct process *process, uint64_t run_ns);
void sim_nested_taken(struct sim *sim, struct process *process, uint64_t attempt);
/* sim_nested_told is called when a client inside a task receives a message or ends. */
void sim_nested_told(struct sim *sim, struct client *client);
/* sim_nested_end ends the client of the task that a process ran. */
void sim_nested_end(struct sim *sim, struct process *process);
void sim_nested_free(struct sim *sim);

#endif
