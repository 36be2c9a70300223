/* Worlds with accounts: the scheduler follows a policy, which an admin replaces now and then. */
#ifndef GW_TESTS_SIM_ACCOUNTS_H
#define GW_TESTS_SIM_ACCOUNTS_H

#include "tests/sim/sim.h"

extern int sim_with_accounts; /* all worlds of this run have accounts */

/* sim_accounts_set gives a new scheduler the policy of this moment. sim_accounts_begin plans the
 * changes of the policy. Both do nothing without accounts. */
void sim_accounts_set(const struct sim *sim, struct gw_sched *sched);
void sim_accounts_begin(struct sim *sim);

#endif
