/* When the results of a host were last used; see recency.c. */
#ifndef GW_TESTS_SIM_RECENCY_H
#define GW_TESTS_SIM_RECENCY_H

#include "tests/sim/sim.h"

/* sim_recency_event: a host's core is about to process an event. sim_recency_stepped checks the
 * effects before they are executed. */
void sim_recency_event(struct sim *sim, struct host *host, const struct gw_event *event);
void sim_recency_stepped(struct sim *sim, struct host *host, const struct gw_effects *effects);
void sim_recency_forget(struct host *host); /* the incarnation of the host has ended */

#endif
