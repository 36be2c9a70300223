/* Ranges of detached jobs: they may be retried after their end. */
#ifndef GW_TESTS_SIM_RANGE_H
#define GW_TESTS_SIM_RANGE_H

#include "tests/sim/sim.h"

/* sim_range_over handles the end of a range. It may retry the unfinished tasks. */
void sim_range_over(struct sim *sim, struct client *client, struct sim_job *job,
                    const struct gw_msg_reply *reply);

/* sim_range_again handles the answer to that retry. It returns true if the end of the job (its
 * index among the client's jobs) must be awaited again. It returns false also for other replies. */
bool sim_range_again(struct sim *sim, struct client *client, const struct gw_msg_reply *reply,
                     uint64_t *job);

#endif
