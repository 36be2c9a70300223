/* Ranges whose client outlives nothing: they are run again when they have ended. */
#ifndef GW_TESTS_SIM_RANGE_H
#define GW_TESTS_SIM_RANGE_H

#include "tests/sim/sim.h"

/* sim_range_over takes the end of a range, and perhaps has what is not done of it run again. */
void sim_range_over(struct sim *sim, struct client *client, struct sim_job *job,
                    const struct gw_msg_reply *reply);

/* sim_range_again takes the answer to that: true when the end of a job (its index among the
 * client's) is to be waited for anew; false for other answers, too. */
bool sim_range_again(struct sim *sim, struct client *client, const struct gw_msg_reply *reply,
                     uint64_t *job);

#endif
