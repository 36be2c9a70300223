/* Scattered values of clients, and how many of them a scheduler accepts. */
#ifndef GW_SIM_SCATTER_H
#define GW_SIM_SCATTER_H

#include "tests/sim/sim.h"

/* sim_scatter_options sets low limits for scattered values. */
void sim_scatter_options(struct gw_sched_options *options);
/* sim_job_scatter submits a job with one scattered value. */
void sim_job_scatter(struct sim *sim, struct client *client);
/* sim_client_send_with does the same as sim_client_send, with a descriptor; 0: without. */
void sim_client_send_with(struct sim *sim, struct client *client, const struct gw_message *message,
                          uint64_t token);
/* sim_scatter_accepted checks that the scheduler has not accepted more values than allowed.
 * sim_scatter_refused returns true if a job may have been refused for lack of room. */
void sim_scatter_accepted(struct sim *sim);
bool sim_scatter_refused(struct sim *sim, const struct sim_job *job);

/* sim_scatter_pack returns the effect that the scheduler's driver sends instead of `effect`. It may
 * be made in `parcel`, whose token (if not 0) is dropped after sending. */
struct packed {
    struct gw_effect effect;
    uint64_t token;
};
const struct gw_effect *sim_scatter_pack(struct sim *sim, const struct gw_effect *effect,
                                         struct packed *packed);

#endif
