/* Shares: holds of a task's result beside its owner's: by a session that looked it up, or by a name
 * under which it is published. A result goes when the last that holds or needs it lets go. */
#ifndef GW_SCHEDULER_CORE_REQUESTS_SHARE_H
#define GW_SCHEDULER_CORE_REQUESTS_SHARE_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

/* What clients ask. GW_EPROTO: a request that is in use. */
int gw_sched_on_lookup(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_msg_lookup *lookup);
void gw_sched_on_drop(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_msg_drop *drop);
void gw_sched_on_publish(struct gw_sched *sched, struct gw_session *session,
                         const struct gw_msg_publish *publish);

/* gw_sched_shares_close drops all that a session holds. */
void gw_sched_shares_close(struct gw_sched *sched, struct gw_session *session);

/* gw_sched_share_row_named finds a task by the name that it was submitted with; GW_NO_INDEX. */
uint32_t gw_sched_share_row_named(const struct gw_job *job, const char *name);

/* gw_sched_share_query_holders lists who has a task's result; gw_sched_share_query_published what
 * is published. */
struct gw_value *gw_sched_share_query_holders(const struct gw_sched *sched,
                                              const struct gw_job *job, uint32_t row);
struct gw_value *gw_sched_share_query_published(const struct gw_sched *sched);

#endif
