/* Remotes: the other ends of connections, and the sessions of clients. */
#ifndef GW_SCHEDULER_CORE_REMOTE_H
#define GW_SCHEDULER_CORE_REMOTE_H

#include "scheduler/core/model/state.h"

/* gw_sched_remote_on_open greets a new peer; GW_EPROTO for a role that has no business here.
 * gw_sched_remote_on_close ends what it had; code: why, GW_EPERM where its token was revoked. */
int gw_sched_remote_on_open(struct gw_sched *sched, const struct gw_event *event);
void gw_sched_remote_on_close(struct gw_sched *sched, gw_peer peer, int32_t code);

/* gw_sched_remote_accepts checks a message's envelope: 1 to take it, 0 to drop it (old, or seen
 * before), GW_EPROTO without a sequence number. */
int gw_sched_remote_accepts(struct gw_sched *sched, struct gw_remote *remote,
                            const struct gw_message *message);

/* gw_sched_remotes_settle closes the sessions of attempts that have ended. */
void gw_sched_remotes_settle(struct gw_sched *sched);

#endif
