/* Answers that nobody waits for: to batches of an actor's calls, and to plain calls, of groups
 * that gw_future_group_expect was called for. */
#ifndef GW_CLIENT_DEFERRED_ACCEPT_H
#define GW_CLIENT_DEFERRED_ACCEPT_H

#include "client/results/future_group.h"

/* gw_deferred_accept_take follows the scheduler's answer: true where the message was one; the
 * client's lock is held. *done: a group that nobody holds any more, to be dropped without it. */
bool gw_deferred_accept_take(struct gw_client *client, const struct gw_message *message,
                             struct gw_future_group **done);

/* gw_deferred_accept_wait waits until it is known which job a future's task is of: 0, or
 * GW_ECLOSED. gw_deferred_accept_wait_all does so of all groups that were sent, for at most
 * timeout_ns. */
int gw_deferred_accept_wait(const struct gw_future *future, struct gw_error *error);
void gw_deferred_accept_wait_all(struct gw_client *client, uint64_t timeout_ns);

/* gw_deferred_accepts_closed lets go of what will not be answered: the connection is down. Not with
 * the client's lock. */
void gw_deferred_accepts_closed(struct gw_client *client);

#endif
