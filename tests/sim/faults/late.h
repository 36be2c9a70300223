/* Results that runners report late, and rows that they skip. */
#ifndef GW_TESTS_SIM_LATE_H
#define GW_TESTS_SIM_LATE_H

#include "tests/sim/sim.h"

/* sim_late_world returns true for a world of stencils: few hosts, nearly all jobs are stencils, and
 * runners report late. It uses a hash, so that other worlds do not change. */
bool sim_late_world(const struct sim *sim);

/* sim_late_wants returns true if the next job is a stencil. sim_late_job makes one: short tasks,
 * each of which depends on its neighbours in the step before. */
bool sim_late_wants(struct sim *sim);
struct sim_job *sim_late_job(struct sim *sim, struct client *client);

/* sim_late_done may delay the report of the first row's result; then it returns true. */
bool sim_late_done(struct sim *sim, struct process *process);

/* sim_late_skip drops all rows that use the result of an attempt in their batch. */
void sim_late_skip(struct sim *sim, struct process *process, uint64_t attempt);

/* sim_late_died makes a dying runner record which attempt it runs, if it does that; only this
 * attempt counts as crashed. sim_late_stepped checks this. */
void sim_late_died(const struct sim *sim, struct process *process);
void sim_late_stepped(struct sim *sim, struct host *host, const struct gw_effects *effects);

#endif
