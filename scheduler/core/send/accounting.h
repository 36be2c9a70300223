/* Effects for the accounting (scheduler/accounting): ended jobs, and queries of clients. Without
 * sched->options.accounting there are none. */
#ifndef GW_SCHEDULER_CORE_ACCOUNTING_H
#define GW_SCHEDULER_CORE_ACCOUNTING_H

#include "scheduler/core/model/state.h"

/* gw_sched_accounting_ended adds an effect for a job that has ended. Values and calls of actors are
 * left out: a call belongs to the job of its actor. A job that ends again after a retry gets a new
 * effect, which replaces the earlier row. */
void gw_sched_accounting_ended(struct gw_sched *sched, const struct gw_job *job);

/* gw_sched_accounting_begin adds such effects for all jobs of the history, because the term before
 * may have ended before it stored them. */
void gw_sched_accounting_begin(struct gw_sched *sched);

/* gw_sched_accounting_ask handles the queries "usage" and "ended_jobs". Returns false if the query
 * is another one. The driver replies later. A user who is no admin gets only own rows. Before the
 * effect of a query "usage" are effects with what the jobs that run have used so far. */
bool gw_sched_accounting_ask(struct gw_sched *sched, struct gw_remote *remote,
                             const struct gw_msg_query *query);

#endif
