/* Appliers for connections and sessions of clients. */
#ifndef GW_SCHEDULER_CORE_CHANGES_REMOTE_H
#define GW_SCHEDULER_CORE_CHANGES_REMOTE_H

#include "scheduler/core/model/state.h"

/* gw_sched_remote_free frees a remote and its session. For appliers and the end of the core. */
void gw_sched_remote_free(struct gw_sched *sched, struct gw_remote *remote);

/* gw_sched_remote_number returns the sequence number for the next message to a remote. */
static inline uint64_t gw_sched_remote_number(struct gw_remote *remote)
{
    return ++remote->sent;
}

#endif
