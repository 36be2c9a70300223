/* Ranks the users of the account tree by fair share, and decides which ready queues are within
 * their quotas. */
#include "scheduler/core/placement/policy.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/sched.h"

#include <stdlib.h>

#define RATE_MOVED (1.0 / 64) /* this part of the use of resources was begun or ended */

/* A child of an account: another account or a user. */
struct member {
    const struct gw_account *account; /* NULL: a user */
    const struct gw_payer *payer;     /* NULL: an account */
    double for_share;                 /* expected usage divided by shares */
};

struct ranking {
    const struct gw_accounts *accounts;
    const double *payers; /* expected usage, by the number of the payer */
    double *expected;     /* usage, by the index of the account */
    uint32_t *ranks;      /* by the number of the payer */
    uint32_t next;        /* rank of the next user */
};

static double expected_of(struct ranking *ranking, const struct gw_account *account)
{
    double sum = 0;
    for (size_t i = 0; i < account->payers.count; i++)
        sum += ranking->payers[account->payers.items[i]->number];
    for (size_t i = 0; i < account->children.count; i++)
        sum += expected_of(ranking, account->children.items[i]);
    ranking->expected[account - ranking->accounts->items] = sum;
    return sum;
}

static int by_share(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return x->for_share < y->for_share ? -1 : x->for_share > y->for_share;
}

static void add_members(const struct ranking *ranking, const struct gw_account *account,
                        struct member *members, size_t *count)
{
    const struct gw_account *items = ranking->accounts->items;
    for (size_t i = 0; i < account->payers.count; i++)
        members[(*count)++] =
            (struct member){.payer = account->payers.items[i],
                            .for_share = ranking->payers[account->payers.items[i]->number]};
    for (size_t i = 0; i < account->children.count; i++) {
        const struct gw_account *child = account->children.items[i];
        members[(*count)++] = (struct member){.account = child,
                                              .for_share = ranking->expected[child - items] /
                                                           (double)child->config->shares};
    }
}

/* Gives the next ranks to the users among the members, and to those below the accounts among them.
 */
static void rank(struct ranking *ranking, struct member *members, size_t count)
{
    qsort(members, count, sizeof *members, by_share);
    for (size_t first = 0, end; first < count; first = end) {
        size_t below = 0, users = 0;
        for (end = first; end < count && members[end].for_share <= members[first].for_share;
             end++) {
            const struct gw_account *account = members[end].account;
            below += account ? account->payers.count + account->children.count : 0;
            if (account)
                continue;
            ranking->ranks[members[end].payer->number] = ranking->next;
            users++;
        }
        ranking->next += users > 0;
        if (below == 0)
            continue;
        struct member *merged = malloc(below * sizeof *merged);
        size_t merged_count = 0;
        GW_MUST_PTR(merged);
        for (size_t i = first; i < end; i++)
            if (members[i].account)
                add_members(ranking, members[i].account, merged, &merged_count);
        rank(ranking, merged, merged_count);
        free(merged);
    }
}

void gw_sched_policy_rank(const struct gw_accounts *accounts, const double *expected,
                          uint32_t *ranks)
{
    struct ranking ranking = {.accounts = accounts, .payers = expected, .ranks = ranks};
    ranking.expected = calloc(accounts->policy.account_count + 1, sizeof *ranking.expected);
    GW_MUST_PTR(ranking.expected);
    const struct gw_account *root = gw_account_root(accounts);
    (void)expected_of(&ranking, root);
    struct member top = {.account = root};
    rank(&ranking, &top, 1);
    free(ranking.expected);
}

/* Returns true if the order of the users has changed. */
static bool rank_all(struct gw_sched *sched)
{
    const struct gw_accounts *accounts = sched->accounts;
    const size_t count = accounts->payers.count;
    double *expected = calloc(count + 1, sizeof *expected);
    uint32_t *ranks = malloc((count + 1) * sizeof *ranks);
    bool changed = false;
    GW_MUST_PTR(expected);
    GW_MUST_PTR(ranks);
    for (size_t i = 0; i < count; i++)
        expected[i] = gw_account_expected(accounts, accounts->payers.items[i], sched->now_ns);
    gw_sched_policy_rank(accounts, expected, ranks);
    for (size_t i = 0; i < count; i++) {
        changed |= accounts->payers.items[i]->rank != ranks[i];
        gw_account_rank(accounts->payers.items[i], ranks[i]);
    }
    free(expected);
    free(ranks);
    gw_account_ranked(sched);
    return changed;
}

/* Returns true if the quota of a queue has changed. */
static bool review_quotas(struct gw_sched *sched)
{
    const struct gw_accounts *accounts = sched->accounts;
    for (size_t i = 0; i < accounts->moved.count; i++) {
        const struct gw_job *job = gw_sched_job_find(sched, accounts->moved.items[i]);
        for (size_t k = 0; job && k < job->queues.count; k++)
            gw_sched_queue_resift(job->queues.items[k]);
    }
    const bool changed = gw_sched_queues_review_quotas(sched);
    gw_account_quotas_reviewed(sched);
    return changed;
}

/* Returns true if the users must be ranked again. A user who has just got resources must not stay
 * the first: otherwise one user would get all room that becomes free at the same time. */
static bool is_outdated(const struct gw_sched *sched)
{
    const struct gw_accounts *accounts = sched->accounts;
    return accounts->stale || sched->now_ns - accounts->period_ns >= GW_POLICY_RANK_NS ||
           (accounts->rate_moved > accounts->rate * RATE_MOVED &&
            accounts->rankings < GW_POLICY_RANKINGS_MAX);
}

void gw_sched_policy_review(struct gw_sched *sched)
{
    const struct gw_accounts *accounts = sched->accounts;
    if (!accounts)
        return;
    bool changed = false;
    if (is_outdated(sched))
        changed = rank_all(sched);
    if (accounts->uses_changed)
        changed |= review_quotas(sched);
    if (changed)
        gw_sched_queues_reorder(sched);
}

uint64_t gw_sched_policy_deadline_ns(const struct gw_sched *sched)
{
    return sched->accounts && sched->accounts->stale ? sched->now_ns : UINT64_MAX;
}

int gw_sched_policy_set(struct gw_sched *sched, const struct gw_cluster_policy *policy,
                        struct gw_error *error)
{
    int rc = policy ? gw_account_config_check(policy, error) : 0;
    if (rc == 0) {
        gw_accounts_set(sched, policy);
        if (policy)
            gw_sched_preemptions_claim(sched);
        gw_sched_queues_regroup(sched);
        gw_account_quotas_reviewed(sched);
    }
    return rc;
}
