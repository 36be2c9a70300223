/* Checks the policy of a cluster before a scheduler follows it. */
#include "scheduler/core/model/account_config.h"

#include "graph/base/must.h"
#include "graph/base/strmap.h"

#include <stdio.h>
#include <string.h>

static bool is_set(const char *text)
{
    return text && *text;
}

static bool is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-@";
    return is_set(name) && strspn(name, allowed) == strlen(name) &&
           strlen(name) <= GW_ACCOUNT_NAME_MAX;
}

static int check_name(const char *kind, const char *name, struct gw_error *error)
{
    if (is_name(name))
        return 0;
    return gw_error_set(error, GW_EINVAL,
                        "%s \"%.80s\": a name has 1 to %d letters, digits or \"_.-@\": rename it",
                        kind, name ? name : "", GW_ACCOUNT_NAME_MAX);
}

static const struct gw_account_config *account_of(const struct gw_cluster_policy *policy,
                                                  const char *name)
{
    for (uint32_t i = 0; i < policy->account_count; i++)
        if (strcmp(policy->accounts[i].name, name) == 0)
            return &policy->accounts[i];
    return NULL;
}

static int check_known(const struct gw_cluster_policy *policy, const char *of, const char *what,
                       const char *account, struct gw_error *error)
{
    if (!is_set(account) || account_of(policy, account))
        return 0;
    return gw_error_set(error, GW_EINVAL,
                        "%s: %s \"%.80s\" is no account: add it or correct the name", of, what,
                        account);
}

static int check_limits(const char *of, const struct gw_account_limits *limits,
                        struct gw_error *error)
{
    const struct {
        const char *name;
        int64_t value;
    } each[] = {{"gpus", limits->gpus},
                {"slots", limits->slots},
                {"running_jobs", limits->running_jobs},
                {"queued_jobs", limits->queued_jobs},
                {"time_limit", limits->time_limit_ns},
                {"stored_bytes", limits->stored_bytes}};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        if (each[i].value < 0)
            return gw_error_set(error, GW_EINVAL,
                                "%s: %s is %lld: a limit is at least 1, or 0 for no limit", of,
                                each[i].name, (long long)each[i].value);
    return 0;
}

/* Walks from an account to the top. More steps than accounts may lie above each other are a cycle
 * or too deep a tree. */
static int check_depth(const struct gw_cluster_policy *policy,
                       const struct gw_account_config *account, struct gw_error *error)
{
    const struct gw_account_config *above = account;
    for (int depth = 1; is_set(above->parent); depth++) {
        above = account_of(policy, above->parent);
        if (above == account)
            return gw_error_set(error, GW_EINVAL,
                                "account %s is above itself: give one of the accounts above it no "
                                "parent",
                                account->name);
        if (depth == GW_ACCOUNT_DEPTH_MAX)
            return gw_error_set(error, GW_EINVAL,
                                "account %s has %d or more accounts above it, the most is %d: give "
                                "it a higher parent",
                                account->name, depth, GW_ACCOUNT_DEPTH_MAX - 1);
    }
    return 0;
}

static int check_account(const struct gw_cluster_policy *policy,
                         const struct gw_account_config *account, struct gw_error *error)
{
    char of[GW_ACCOUNT_NAME_MAX + 16];
    (void)snprintf(of, sizeof of, "account %s", account->name);
    int rc = check_known(policy, of, "its parent", account->parent, error);
    if (rc == 0 && (account->shares < 1 || account->shares > GW_ACCOUNT_SHARES_MAX))
        rc = gw_error_set(error, GW_EINVAL, "%s: shares is %lld: give it 1 to %d shares", of,
                          (long long)account->shares, GW_ACCOUNT_SHARES_MAX);
    return rc < 0 ? rc : check_limits(of, &account->limits, error);
}

/* Names of accounts and queues are unique among their kind. A user is in one account. */
static int check_users(const struct gw_account_config *account, struct gw_strmap *users,
                       const struct gw_cluster_policy *policy, struct gw_error *error)
{
    for (uint32_t i = 0; i < account->user_count; i++) {
        const char *user = account->users[i];
        char of[GW_ACCOUNT_NAME_MAX + 32];
        uint64_t other;
        (void)snprintf(of, sizeof of, "account %s: user", account->name);
        int rc = check_name(of, user, error);
        if (rc < 0)
            return rc;
        if (gw_strmap_get(users, user, &other))
            return gw_error_set(error, GW_EINVAL,
                                "user %s is in account %s and in account %s: remove one of them",
                                user, policy->accounts[other].name, account->name);
        if (users->count == GW_ACCOUNT_USERS_MAX)
            return gw_error_set(
                error, GW_EINVAL,
                "account %s: more than %d users in all accounts: use default_account",
                account->name, GW_ACCOUNT_USERS_MAX);
        GW_MUST(gw_strmap_put(users, user, (uint64_t)(account - policy->accounts)));
    }
    return 0;
}

static int check_accounts(const struct gw_cluster_policy *policy, struct gw_strmap *names,
                          struct gw_strmap *users, struct gw_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < policy->account_count; i++) {
        const struct gw_account_config *account = &policy->accounts[i];
        rc = check_name("account", account->name, error);
        if (rc == 0 && gw_strmap_get(names, account->name, NULL))
            rc = gw_error_set(error, GW_EINVAL, "account %s exists twice: rename one of them",
                              account->name);
        if (rc == 0)
            GW_MUST(gw_strmap_put(names, account->name, i));
    }
    for (uint32_t i = 0; rc == 0 && i < policy->account_count; i++)
        rc = check_account(policy, &policy->accounts[i], error);
    for (uint32_t i = 0; rc == 0 && i < policy->account_count; i++)
        rc = check_depth(policy, &policy->accounts[i], error);
    for (uint32_t i = 0; rc == 0 && i < policy->account_count; i++)
        rc = check_users(&policy->accounts[i], users, policy, error);
    return rc;
}

static int check_queue(const struct gw_cluster_policy *policy, uint32_t at, struct gw_error *error)
{
    const struct gw_queue_config *queue = &policy->queues[at];
    char of[GW_ACCOUNT_NAME_MAX + 16];
    int rc = check_name("queue", queue->name, error);
    if (rc < 0)
        return rc;
    (void)snprintf(of, sizeof of, "queue %s", queue->name);
    for (uint32_t i = 0; i < at; i++)
        if (strcmp(policy->queues[i].name, queue->name) == 0)
            return gw_error_set(error, GW_EINVAL, "%s exists twice: rename one of them", of);
    rc = check_limits(of, &queue->limits, error);
    for (uint32_t i = 0; rc == 0 && i < queue->account_count; i++)
        rc = is_set(queue->accounts[i])
                 ? check_known(policy, of, "its account", queue->accounts[i], error)
                 : gw_error_set(error, GW_EINVAL, "%s: an account without a name: remove it", of);
    if (rc < 0)
        return rc;
    const int64_t most_ns = queue->limits.time_limit_ns;
    if (queue->default_time_limit_ns < 0 || (most_ns && queue->default_time_limit_ns > most_ns))
        return gw_error_set(error, GW_EINVAL,
                            "%s: its default time limit is below 0 or above its time limit", of);
    if (queue->priority < -GW_QUEUE_PRIORITY_MAX || queue->priority > GW_QUEUE_PRIORITY_MAX)
        return gw_error_set(error, GW_EINVAL, "%s: priority is %d: give it one from %d to %d", of,
                            queue->priority, -GW_QUEUE_PRIORITY_MAX, GW_QUEUE_PRIORITY_MAX);
    return 0;
}

static int check_rest(const struct gw_cluster_policy *policy, struct gw_error *error)
{
    const double weights[] = {policy->gpu_weight, policy->slot_weight, policy->memory_gib_weight};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (!(weights[i] >= 0 && weights[i] <= 1e9))
            return gw_error_set(error, GW_EINVAL,
                                "a weight of usage is %g: give weights from 0 to 1e9", weights[i]);
    int rc = check_known(policy, "policy", "the default account", policy->default_account, error);
    if (rc < 0 || !is_set(policy->default_queue))
        return rc;
    for (uint32_t i = 0; i < policy->queue_count; i++)
        if (strcmp(policy->queues[i].name, policy->default_queue) == 0)
            return 0;
    return gw_error_set(
        error, GW_EINVAL,
        "policy: the default queue \"%.80s\" is no queue: add it or correct the name",
        policy->default_queue);
}

int gw_account_config_check(const struct gw_cluster_policy *policy, struct gw_error *error)
{
    struct gw_strmap names = {0}, users = {0};
    if (policy->account_count > GW_ACCOUNTS_MAX)
        return gw_error_set(error, GW_EINVAL, "%u accounts: the most is %d", policy->account_count,
                            GW_ACCOUNTS_MAX);
    if (policy->queue_count > GW_QUEUES_MAX)
        return gw_error_set(error, GW_EINVAL, "%u queues: the most is %d", policy->queue_count,
                            GW_QUEUES_MAX);
    if (policy->account_count == 0)
        return gw_error_set(error, GW_EINVAL, "the policy has no account: add one with its users");
    int rc = check_accounts(policy, &names, &users, error);
    for (uint32_t i = 0; rc == 0 && i < policy->queue_count; i++)
        rc = check_queue(policy, i, error);
    gw_strmap_deinit(&names);
    gw_strmap_deinit(&users);
    return rc < 0 ? rc : check_rest(policy, error);
}

int gw_account_config_check_user(const struct gw_cluster_policy *policy, const char *user,
                                 struct gw_error *error)
{
    if (is_set(policy->default_account))
        return 0;
    for (uint32_t i = 0; i < policy->account_count; i++)
        for (uint32_t k = 0; k < policy->accounts[i].user_count; k++)
            if (strcmp(policy->accounts[i].users[k], user) == 0)
                return 0;
    return gw_error_set(error, GW_EINVAL,
                        "user %.80s is in no account: add the user to an account, or set a default "
                        "account",
                        user);
}
