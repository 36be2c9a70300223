/* Remotes: the peers of connections, and the sessions of clients. */
#ifndef GW_SCHEDULER_CORE_REMOTE_H
#define GW_SCHEDULER_CORE_REMOTE_H

#include "scheduler/core/model/state.h"

/* gw_sched_remote_on_open greets a new peer. Returns GW_EPROTO if the peer's role may not connect
 * to a scheduler. gw_sched_remote_on_close ends the session or registration of the peer. `code` is
 * the reason: GW_EPERM if the peer's token was revoked. */
int gw_sched_remote_on_open(struct gw_sched *sched, const struct gw_event *event);
void gw_sched_remote_on_close(struct gw_sched *sched, gw_peer peer, int32_t code);

/* gw_sched_remote_accepts checks the envelope of a message. Returns 1 to accept it, 0 to drop it
 * (duplicate or old), or GW_EPROTO if the sequence number is missing. */
int gw_sched_remote_accepts(struct gw_sched *sched, struct gw_remote *remote,
                            const struct gw_message *message);

/* gw_sched_remotes_settle closes the connections of clients inside attempts that have ended. */
void gw_sched_remotes_settle(struct gw_sched *sched);

#endif
