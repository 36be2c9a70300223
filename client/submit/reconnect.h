/* Reconnecting: if the scheduler of a client disappears, the client looks for the next scheduler at
 * the same address. It submits again all unfinished work, all results that the program may still
 * fetch, and the inputs of both. Until then calls wait. `reconnect_ns` in gangway.h describes this
 * for users. */
#ifndef GW_CLIENT_RECONNECT_H
#define GW_CLIENT_RECONNECT_H

#include "client/results/resubmit_log.h"

/* gw_reconnect_open prepares a connected client for the loss of its scheduler. After each loss the
 * client tries to reconnect to the address `home` (copied) for at most reconnect_ns. Returns 0 or
 * GW_ENOMEM.
 *
 * gw_reconnect_stop ends the reconnect thread. The client is closed, and its lock is not held. It
 * blocks while the thread is in a call that connects.
 *
 * gw_reconnect_close frees the struct, after the connection was closed. */
int gw_reconnect_open(struct gw_client *client, const char *home, bool tcp, uint64_t reconnect_ns);
void gw_reconnect_stop(struct gw_client *client);
void gw_reconnect_close(struct gw_client *client);

/* gw_reconnect_lost is called when the connection has ended and client->down is set. It returns
 * true if the client now tries to reconnect. The client's lock is held. */
bool gw_reconnect_lost(struct gw_client *client);

/* gw_reconnect_revive submits the inputs of a record again if they were not submitted on this
 * connection. Returns 0, GW_ECLOSED, or the scheduler's error, with text. */
int gw_reconnect_revive(struct gw_resubmit_log *record, struct gw_error *error);

#endif
