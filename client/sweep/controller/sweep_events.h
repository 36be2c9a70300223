/* Reports and ends of trials, as the scheduler numbers them. */
#ifndef GW_SWEEP_EVENTS_H
#define GW_SWEEP_EVENTS_H

#include "client/sweep/controller/sweep_state.h"

struct gw_client;

enum { GW_SWEEP_EVENTS_JOBS_MAX = 10000 }; /* jobs of one query "metrics" */

/* gw_sweep_events_read asks for the events of `count` jobs after number `after`, and calls handle
 * for each. For at most GW_SWEEP_EVENTS_JOBS_MAX jobs they come in their order, and all of them up
 * to the last one. More jobs take several queries, and an event may be missing that happened
 * between two of them. The event is borrowed. */
typedef int gw_sweep_events_handler(void *arg, const struct gw_sweep_event *event,
                                    struct gw_error *error);
int gw_sweep_events_read(struct gw_client *client, const uint64_t *jobs, size_t count,
                         uint64_t after, gw_sweep_events_handler *handle, void *arg,
                         struct gw_error *error);

#endif
