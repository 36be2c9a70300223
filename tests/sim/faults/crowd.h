/* Worlds in which memory is short and nothing else goes wrong; see crowd.c. */
#ifndef GW_TESTS_SIM_CROWD_H
#define GW_TESTS_SIM_CROWD_H

#include "tests/sim/sim.h"

/* sim_crowd_run runs one seed of such a world. */
void sim_crowd_run(uint64_t seed, bool log);

/* Only in such a world (sim->crowd): sim_crowd_options sets the memory thresholds of a host.
 * sim_crowd_uses returns the memory of a process. sim_crowd_begin: a process starts its task. */
void sim_crowd_options(struct host *host, struct gw_node_options *options);
uint64_t sim_crowd_uses(struct sim *sim, const struct process *process);
void sim_crowd_begin(struct sim *sim, const struct host *host);

#endif
