/* The policy: in which order the work of different users is placed.
 *
 * Rules. Without a policy, the order is priority (with what a wait has added, see ageing.h), then
 * age. With a policy, it is: work within its quotas before borrowed work; priority; fair share;
 * age. A wait adds nothing there, because it would not come before priority and fair share: it
 * would only let the gangs of an overloaded user delay older tasks of the same user without end.
 * queue.c compares two ready queues; this file decides what they are compared by.
 *
 * Fair share is a fair tree: at each level, the accounts and users with the least expected usage
 * (gw_account_expected) for their shares come first, and all users of an account that comes first
 * come before those of the next. Equal ones share their place, and the users below them are
 * compared with each other. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_POLICY_H
#define GW_SCHEDULER_CORE_PLACEMENT_POLICY_H

#include "scheduler/core/model/account.h"

/* gw_sched_policy_review brings ranks and quotas up to date: ranks if they are older than
 * GW_POLICY_RANK_NS, a user is new, or attempts have begun or ended (if these are many, and at most
 * GW_POLICY_RANKINGS_MAX times in GW_POLICY_RANK_NS), quotas if resources were taken or given back.
 * It does nothing without a policy. Every placement of a task begins with this call. */
void gw_sched_policy_review(struct gw_sched *sched);

/* gw_sched_policy_rank ranks all payers by their expected usage. Both arrays are by the number of
 * the payer. */
void gw_sched_policy_rank(const struct gw_accounts *accounts, const double *expected,
                          uint32_t *ranks);

/* gw_sched_policy_deadline_ns returns the present time if a new policy awaits its first placement,
 * else UINT64_MAX. */
uint64_t gw_sched_policy_deadline_ns(const struct gw_sched *sched);

#endif
