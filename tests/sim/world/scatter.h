/* Values that clients scatter, and how many a scheduler takes. */
#ifndef GW_SIM_SCATTER_H
#define GW_SIM_SCATTER_H

#include "tests/sim/sim.h"

/* sim_scatter_options has a scheduler take few. */
void sim_scatter_options(struct gw_sched_options *options);
/* sim_job_scatter submits a job of one value. */
void sim_job_scatter(struct sim *sim, struct client *client);
/* sim_client_send_with is sim_client_send with a descriptor; 0: without. */
void sim_client_send_with(struct sim *sim, struct client *client, const struct gw_message *message,
                          uint64_t token);
/* sim_scatter_accepted checks that no more were taken than may be; sim_scatter_refused tells
 * whether a job may be refused because there was no room. */
void sim_scatter_accepted(struct sim *sim);
bool sim_scatter_refused(struct sim *sim, const struct sim_job *job);

/* sim_scatter_pack gives what a scheduler's driver sends for an effect, perhaps made in `parcel`,
 * whose token (not 0) is dropped when it was sent. */
struct parcel {
    struct gw_effect effect;
    uint64_t token;
};
const struct gw_effect *sim_scatter_pack(struct sim *sim, const struct gw_effect *effect,
                                         struct parcel *parcel);

#endif
