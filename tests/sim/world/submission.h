/* How jobs come to the scheduler. */
#ifndef GW_SIM_SUBMISSION_H
#define GW_SIM_SUBMISSION_H

#include "tests/sim/sim.h"

/* sim_submission_chunk sends more of a job, or the rest of it. sim_submission_range sends one that
 * is a range. */
void sim_submission_chunk(struct sim *sim, struct sim_job *job);
void sim_submission_range(struct sim *sim, struct sim_job *job);

#endif
