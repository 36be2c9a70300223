/* The request of an admin to read the configuration file again. */
#ifndef GW_SCHEDULER_CORE_RELOAD_H
#define GW_SCHEDULER_CORE_RELOAD_H

#include "scheduler/core/model/state.h"

/* gw_sched_reload_ask handles the query "reload". Returns false if the query is another one. The
 * driver replies after it has read the file; a client that is no admin gets GW_EPERM. */
bool gw_sched_reload_ask(struct gw_sched *sched, struct gw_remote *remote,
                         const struct gw_msg_query *query);

#endif
