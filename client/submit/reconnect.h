/* Reconnecting: a client whose scheduler went away looks for the one that comes next at the same
 * address, and submits again what was unfinished, what may still be fetched, and what these take.
 * Until then calls wait. See `reconnect_ns` in gangway.h for what its users are told. */
#ifndef GW_CLIENT_RECONNECT_H
#define GW_CLIENT_RECONNECT_H

#include "client/results/resubmit_log.h"

/* gw_reconnect_open has a client look for its scheduler, for reconnect_ns at a time, at `home`
 * (copied), where it is connected already. 0 or GW_ENOMEM. gw_reconnect_stop ends that: the client
 * is closed, and the lock is not held; it blocks while the thread is just connecting.
 * gw_reconnect_close frees, once the connection is closed. */
int gw_reconnect_open(struct gw_client *client, const char *home, bool tcp, uint64_t reconnect_ns);
void gw_reconnect_stop(struct gw_client *client);
void gw_reconnect_close(struct gw_client *client);

/* gw_reconnect_lost is told when the connection ended, with client->down set: true when another is
 * looked for. The lock is held. */
bool gw_reconnect_lost(struct gw_client *client);

/* gw_reconnect_revive says again what a record takes, where that has not been said on this
 * connection. 0, GW_ECLOSED, or what the scheduler says, with text. */
int gw_reconnect_revive(struct gw_resubmit_log *record, struct gw_error *error);

#endif
