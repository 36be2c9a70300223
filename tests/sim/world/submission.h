/* Sends jobs to the scheduler. */
#ifndef GW_SIM_SUBMISSION_H
#define GW_SIM_SUBMISSION_H

#include "tests/sim/sim.h"

/* sim_submission_chunk sends some or all of the remaining rows of a job. sim_submission_range sends
 * a range. */
void sim_submission_chunk(struct sim *sim, struct sim_job *job);
void sim_submission_range(struct sim *sim, struct sim_job *job);

#endif
