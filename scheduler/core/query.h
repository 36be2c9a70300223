/* Queries: listings for people and programs. Read only. */
#ifndef GW_SCHEDULER_CORE_QUERY_H
#define GW_SCHEDULER_CORE_QUERY_H

#include "scheduler/core/state.h"

#include <gangway/value.h>

/* gw_sched_query_encoded answers a query message; body lies in the effects' arena. GW_ELIMIT where
 * the answer does not fit a message. */
int gw_sched_query_encoded(struct gw_sched *sched, const struct gw_msg_query *query,
                           struct gw_bin *body, struct gw_error *error);

#endif
