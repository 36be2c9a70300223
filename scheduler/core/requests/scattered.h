/* Scattered values: clients put values into the cluster. The scheduler holds and counts them. */
#ifndef GW_SCHEDULER_CORE_REQUESTS_SCATTERED_H
#define GW_SCHEDULER_CORE_REQUESTS_SCATTERED_H

#include "graph/wire/message.h"

struct gw_sched;
struct gw_session;
struct gw_job;
struct gw_object;
struct gw_value;

/* gw_sched_on_scatter takes a value of a client and answers "accepted", or "rejected" if there is
 * no room. It keeps the token of an accepted value. Returns GW_EPROTO if the message is malformed.
 */
int gw_sched_on_scatter(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_scatter *scatter);

/* gw_sched_scattered_check asserts that the counters match the values that exist. */
void gw_sched_scattered_check(const struct gw_sched *sched);

/* gw_sched_scattered_query adds the counters and limits to the answer to the query "status". */
void gw_sched_scattered_query(const struct gw_sched *sched, struct gw_value *status);

#endif
