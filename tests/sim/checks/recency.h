/* When the results of a host were used last; see recency.c. */
#ifndef GW_TESTS_SIM_RECENCY_H
#define GW_TESTS_SIM_RECENCY_H

#include "tests/sim/sim.h"

/* sim_recency_event: a host's core is about to hear this. sim_recency_stepped looks at what it
 * wants done by that, before any of it is. */
void sim_recency_event(struct sim *sim, struct host *host, const struct gw_event *event);
void sim_recency_stepped(struct sim *sim, struct host *host, const struct gw_effects *effects);
void sim_recency_forget(struct host *host); /* its life is over */

#endif
