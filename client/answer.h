/* Answers that nobody waits for: to batches of an actor's calls, and to plain calls, of bundles
 * that gw_bundle_expect was called for. */
#ifndef GW_CLIENT_ANSWER_H
#define GW_CLIENT_ANSWER_H

#include "client/bundle.h"

/* gw_answer_take follows the scheduler's answer: true where the message was one; the client's lock
 * is held. *done: a bundle that nobody holds any more, to be dropped without it. */
bool gw_answer_take(struct gw_client *client, const struct gw_message *message,
                    struct gw_bundle **done);

/* gw_answer_wait waits until it is known which job a future's task is of: 0, or GW_ECLOSED.
 * gw_answer_wait_all does so of all bundles that were sent, for at most timeout_ns. */
int gw_answer_wait(const struct gw_future *future, struct gw_error *error);
void gw_answer_wait_all(struct gw_client *client, uint64_t timeout_ns);

/* gw_answers_closed lets go of what will not be answered: the connection is down. Not with the
 * client's lock. */
void gw_answers_closed(struct gw_client *client);

#endif
