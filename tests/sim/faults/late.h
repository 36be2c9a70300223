/* Results that runners tell late, and rows that they skip. */
#ifndef GW_TESTS_SIM_LATE_H
#define GW_TESTS_SIM_LATE_H

#include "tests/sim/sim.h"

/* sim_late_world tells whether this is a world of stencils: of few hosts, whose jobs are nearly all
 * such, and whose runners tell late. By a hash: what other worlds are made of stays as it is. */
bool sim_late_world(const struct sim *sim);

/* sim_late_wants tells whether the next job is a stencil.
 * sim_late_job makes one: short tasks, each behind its neighbours of the step before. */
bool sim_late_wants(struct sim *sim);
struct sim_job *sim_late_job(struct sim *sim, struct client *client);

/* sim_late_done may have what the first row has made told later: true. */
bool sim_late_done(struct sim *sim, struct process *process);

/* sim_late_skip drops all rows that take what an attempt in their batch was to make. */
void sim_late_skip(struct sim *sim, struct process *process, uint64_t attempt);

/* sim_late_died has a runner that dies say what it executes, if it does; that alone is charged.
 * sim_late_stepped checks that. */
void sim_late_died(const struct sim *sim, struct process *process);
void sim_late_stepped(struct sim *sim, struct host *host, const struct gw_effects *effects);

#endif
