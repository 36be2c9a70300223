/* Acknowledgements: an effect that was confirmed to a client holds in all later terms. */
#ifndef GW_TESTS_SIM_ACKNOWLEDGEMENT_H
#define GW_TESTS_SIM_ACKNOWLEDGEMENT_H

#include "tests/sim/sim.h"

/* sim_acknowledgement_asked: a client asks to cancel or retry a task, or a job (row GW_INDEX_ALL).
 */
void sim_acknowledgement_asked(struct client *client, uint64_t request, const struct sim_job *job,
                               uint32_t row);
/* sim_acknowledgement_told: the scheduler answers the client, and may die directly afterwards. */
void sim_acknowledgement_told(struct sim *sim, const struct client *client,
                              const struct gw_msg_reply *reply);
void sim_acknowledgements_free(struct client *client);

#endif
