/* What functions report in the simulated world; see reports.c. */
#ifndef GW_TESTS_SIM_REPORTS_H
#define GW_TESTS_SIM_REPORTS_H

#include "tests/sim/sim.h"

/* sim_reports_wanted returns how many steps an attempt reports. sim_reports_told: the worker was
 * told of this step. */
uint64_t sim_reports_wanted(const struct sim *sim, uint64_t attempt);
void sim_reports_told(struct sim *sim, uint64_t attempt, uint64_t step);

/* sim_reports_facts checks facts before they are appended to sim->facts. sim_reports_restored: a
 * new scheduler has read sim->facts, and the later facts are lost. */
void sim_reports_facts(struct sim *sim, const struct gw_bin *facts);
void sim_reports_restored(struct sim *sim);
void sim_reports_free(struct sim *sim);

#endif
