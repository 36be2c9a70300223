/* Queries of clients about ended jobs. */
#ifndef GW_SCHEDULER_ACCOUNTING_USAGE_QUERY_H
#define GW_SCHEDULER_ACCOUNTING_USAGE_QUERY_H

#include "scheduler/accounting/accounting_file.h"

#include <gangway/value.h>

enum {
    GW_USAGE_QUERY_JOBS_MAX = 500,   /* rows of a page of jobs */
    GW_USAGE_QUERY_SUMS_MAX = 5000,  /* rows of a page of sums */
    GW_USAGE_QUERY_DAYS_MAX = 36600, /* of a query by day */
};

/* gw_usage_query_answer answers a query, the dict `arguments`:
 *
 * - jobs: true: the jobs themselves that have ended, the last end first. false: sums of all jobs,
 *   also of those that run (gw_accounting_file_show);
 *
 * - by: list of "user", "account", "queue" and "day": what the sums are for; none: one sum of all;
 *
 * - since_ns, until_ns: only this time (ns since 1970). Of a job that ran partly outside of it, the
 *   sums contain this part of its use. Of the jobs themselves, those that ended in this time;
 *
 * - user, account, queue, state: only such jobs;
 *
 * - cursor: the row to begin with.
 *
 * Days are those of the scheduler's time zone. The answer is a dict with the list `rows`, and
 * `next`, the cursor of the next page, if there is one. The caller unrefs it. Returns GW_EINVAL for
 * arguments of another type, GW_ELIMIT for too many days, GW_ENOMEM, GW_EIO or GW_ECORRUPT. */
int gw_usage_query_answer(struct gw_accounting_file *file, const struct gw_value *arguments,
                          struct gw_value **answer, struct gw_error *error);

#endif
