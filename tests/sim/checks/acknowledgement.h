/* Receipts: what a client is told that it has reached is so in every later life. */
#ifndef GW_TESTS_SIM_ACKNOWLEDGEMENT_H
#define GW_TESTS_SIM_ACKNOWLEDGEMENT_H

#include "tests/sim/sim.h"

/* sim_acknowledgement_asked: a client asks for the end of a task, or of a job (row GW_INDEX_ALL).
 */
void sim_acknowledgement_asked(struct client *client, uint64_t request, const struct sim_job *job,
                               uint32_t row);
/* sim_acknowledgement_told: the scheduler answers a client, and may be gone a moment later. */
void sim_acknowledgement_told(struct sim *sim, const struct client *client,
                              const struct gw_msg_reply *reply);
void sim_acknowledgements_free(struct client *client);

#endif
