/* Shares: holds of a task's result in addition to the hold of its owner. A share belongs to a
 * session that looked the task up, or to a name under which the task is published. A result is
 * released when nothing holds or needs it any more. */
#ifndef GW_SCHEDULER_CORE_REQUESTS_SHARE_H
#define GW_SCHEDULER_CORE_REQUESTS_SHARE_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

/* Handle requests of clients. gw_sched_on_lookup returns GW_EPROTO if the request number is in use.
 */
int gw_sched_on_lookup(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_msg_lookup *lookup);
void gw_sched_on_drop(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_msg_drop *drop);
void gw_sched_on_publish(struct gw_sched *sched, struct gw_session *session,
                         const struct gw_msg_publish *publish);

/* gw_sched_shares_close drops all shares of a session. */
void gw_sched_shares_close(struct gw_sched *sched, struct gw_session *session);

/* gw_sched_share_row_named finds a task by the name that it was submitted with, or returns
 * GW_NO_INDEX. */
uint32_t gw_sched_share_row_named(const struct gw_job *job, const char *name);

/* gw_sched_share_query_holders lists the holders of a task's result. gw_sched_share_query_published
 * lists the published tasks. */
struct gw_value *gw_sched_share_query_holders(const struct gw_sched *sched,
                                              const struct gw_job *job, uint32_t row);
struct gw_value *gw_sched_share_query_published(const struct gw_sched *sched);

#endif
