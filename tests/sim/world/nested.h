/* Tasks that submit tasks, and tasks behind one that waits or runs long. */
#ifndef GW_SIM_NESTED_H
#define GW_SIM_NESTED_H

#include "tests/sim/sim.h"

/* sim_nested_begin has the task of a process ask for a client, and tells whether it does: then its
 * execution goes on with sim_process_go_on. */
bool sim_nested_begin(struct sim *sim, struct process *process, int32_t execution);
/* sim_nested_link opens the connection that a worker wants for a task of its own. */
void sim_nested_link(struct sim *sim, struct host *host, const struct gw_effect *effect);
/* sim_nested_long: its task begins and takes run_ns; where that is long it says so. */
void sim_nested_long(struct sim *sim, struct process *process, uint64_t run_ns);
void sim_nested_taken(struct sim *sim, struct process *process, uint64_t attempt);
/* sim_nested_told follows whatever a client inside of a task is told, and its end. */
void sim_nested_told(struct sim *sim, struct client *client);
/* sim_nested_end ends the client of what a process executed. */
void sim_nested_end(struct sim *sim, struct process *process);
void sim_nested_free(struct sim *sim);

#endif
