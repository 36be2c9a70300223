/* Answers to submissions that no caller waits for: batches of an actor's calls, and plain calls.
 * gw_future_group_expect marks the groups of such submissions. */
#ifndef GW_CLIENT_DEFERRED_ACCEPT_H
#define GW_CLIENT_DEFERRED_ACCEPT_H

#include "client/results/future_group.h"

/* gw_deferred_accept_take handles the scheduler's answer to such a submission. It returns false if
 * the message answers something else. The client's lock is held. *done is set to a group that
 * nobody holds any more; the caller drops it after it has released the lock. */
bool gw_deferred_accept_take(struct gw_client *client, const struct gw_message *message,
                             struct gw_future_group **done);

/* gw_deferred_accept_wait waits until the number of the future's job is known. It returns 0 or
 * GW_ECLOSED. gw_deferred_accept_wait_all waits for the answers to all groups that were sent, for
 * at most timeout_ns. */
int gw_deferred_accept_wait(const struct gw_future *future, struct gw_error *error);
void gw_deferred_accept_wait_all(struct gw_client *client, uint64_t timeout_ns);

/* gw_deferred_accepts_closed is called when the connection has ended. It releases all groups that
 * will get no answer. The client's lock is not held. */
void gw_deferred_accepts_closed(struct gw_client *client);

#endif
