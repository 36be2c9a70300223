/* Queries: answers of the scheduler to listings and questions of clients. Read only. */
#ifndef GW_SCHEDULER_CORE_QUERY_H
#define GW_SCHEDULER_CORE_QUERY_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

/* gw_sched_query_encoded answers a query message of a client. The encoded answer in `body` is
 * allocated in the arena of the step's effects. It fits into one message and takes a bounded turn
 * of the loop. The answer to a listing is one page: a dict {"rows", "next", "more"} that begins at
 * the argument "cursor". */
int gw_sched_query_encoded(struct gw_sched *sched, const struct gw_remote *remote,
                           const struct gw_msg_query *query, struct gw_bin *body,
                           struct gw_error *error);

#endif
