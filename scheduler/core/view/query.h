/* Queries: listings for people and programs. Read only. */
#ifndef GW_SCHEDULER_CORE_QUERY_H
#define GW_SCHEDULER_CORE_QUERY_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

/* gw_sched_query_encoded answers a query message of a client; body lies in the effects' arena. The
 * answer fits a message and takes a bounded turn: of a listing it is one page, a dict {"rows",
 * "next", "more"}, from the argument "cursor" on. */
int gw_sched_query_encoded(struct gw_sched *sched, const struct gw_remote *remote,
                           const struct gw_msg_query *query, struct gw_bin *body,
                           struct gw_error *error);

#endif
