/* Queries: listings for people and programs. Read only. */
#ifndef GW_SCHEDULER_CORE_QUERY_H
#define GW_SCHEDULER_CORE_QUERY_H

#include "scheduler/core/state.h"

#include <gangway/value.h>

/* gw_sched_query_encoded answers a query message; body lies in the effects' arena. GW_ELIMIT where
 * the answer does not fit a message. */
int gw_sched_query_encoded(struct gw_sched *sched, const struct gw_msg_query *query,
                           struct gw_bin *body, struct gw_error *error);

/* gw_sched_explain tells in a sentence or more why a task is where it is. */
void gw_sched_explain(const struct gw_sched *sched, struct gw_job *job, uint32_t row, char *text,
                      size_t text_bytes);

/* gw_sched_explain_job tells how an ended job of several tasks ended: how many failed, and of the
 * first cause which task and why. */
void gw_sched_explain_job(const struct gw_sched *sched, struct gw_job *job, char *text,
                          size_t text_bytes);

/* gw_sched_explain_range tells how far a range is, and explains one of its rows. */
void gw_sched_explain_range(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                            char *text, size_t text_bytes);

#endif
