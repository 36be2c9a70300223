/* Answers about accounts, shares, usage and queues. */
#ifndef GW_SCHEDULER_CORE_ACCOUNT_ROWS_H
#define GW_SCHEDULER_CORE_ACCOUNT_ROWS_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/view/explain.h"

#include <gangway/value.h>

/* Each returns a new list that the caller must unref, with a dict for each row: the accounts in the
 * order of the tree, each followed by its users; the queues. It is empty without a policy. */
struct gw_value *gw_account_rows(const struct gw_sched *sched);
struct gw_value *gw_account_rows_queues(const struct gw_sched *sched);

/* gw_account_rows_explain says, for a task that waits for resources: its account and queue, what
 * the account has used, and its place in the order. Each clause begins with "; ". */
void gw_account_rows_explain(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                             struct gw_text *text);

/* gw_account_rows_explain_quota says why the quotas of its account or queue let a task wait, then
 * the same as gw_account_rows_explain, and returns true. It returns false if they do not. */
bool gw_account_rows_explain_quota(const struct gw_sched *sched, const struct gw_job *job,
                                   uint32_t row, struct gw_text *text);

#endif
