/* Scattered values: what clients put into the cluster lies at the scheduler, and is counted. */
#ifndef GW_SCHEDULER_CORE_REQUESTS_SCATTERED_H
#define GW_SCHEDULER_CORE_REQUESTS_SCATTERED_H

#include "graph/wire/message.h"

struct gw_sched;
struct gw_session;
struct gw_job;
struct gw_object;
struct gw_value;

/* gw_sched_on_scatter takes a client's value: accepted, or rejected where there is no room, is the
 * answer. It keeps the token of one that it accepts. GW_EPROTO: it makes no sense. */
int gw_sched_on_scatter(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_scatter *scatter);

/* gw_sched_scattered_check asserts that the counts are what there is. */
void gw_sched_scattered_check(const struct gw_sched *sched);

/* gw_sched_scattered_query adds the counts and the limits to the answer to "status". */
void gw_sched_scattered_query(const struct gw_sched *sched, struct gw_value *status);

#endif
