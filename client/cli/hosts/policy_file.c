/* Reads the policy of a cluster from the configuration file. The keys are in the tables below. */
#include "client/cli/hosts/policy_file.h"

#include "client/cli/lib/config_file.h"
#include "client/cli/lib/option.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows for the limits of an account or a queue. */
#define LIMITS(limits)                                                                             \
    {"gpus", 0, GW_OPTION_U64, &(limits).gpus, NULL, NULL},                                        \
        {"slots", 0, GW_OPTION_U64, &(limits).slots, NULL, NULL},                                  \
        {"running-jobs", 0, GW_OPTION_U64, &(limits).running_jobs, NULL, NULL},                    \
        {"queued-jobs", 0, GW_OPTION_U64, &(limits).queued_jobs, NULL, NULL},                      \
        {"time-limit", 0, GW_OPTION_DURATION, &(limits).time_limit_ns, NULL, NULL},                \
    {                                                                                              \
        "stored", 0, GW_OPTION_SIZE, &(limits).stored_bytes, NULL, NULL                            \
    }

/* Keeps the array of a list of names. */
static const char *const *take(struct gw_policy_file *policy, struct gw_option_texts *texts)
{
    policy->texts[policy->text_count++] = texts->items;
    return texts->items;
}

static int read_account(struct gw_config_file *file, struct gw_policy_file *policy, uint32_t i,
                        struct gw_error *error)
{
    struct gw_account_config *account = &policy->accounts[i];
    struct gw_option_texts users = {0};
    uint64_t shares = 1;
    const struct gw_option rows[] = {
        {"name", 0, GW_OPTION_TEXT, &account->name, NULL, NULL},
        {"parent", 0, GW_OPTION_TEXT, &account->parent, NULL, NULL},
        {"shares", 0, GW_OPTION_U64, &shares, NULL, NULL},
        {"users", 0, GW_OPTION_TEXTS, &users, NULL, NULL},
        {"strict", 0, GW_OPTION_FLAG, &account->strict, NULL, NULL},
        LIMITS(account->limits),
        {0},
    };
    account->name = "";
    int rc = gw_config_file_apply_item(
        file, &(struct gw_config_group){.name = "accounts", .rows = rows}, i, error);
    account->shares = (int64_t)shares;
    account->users = take(policy, &users);
    account->user_count = (uint32_t)users.count;
    return rc;
}

static int read_queue(struct gw_config_file *file, struct gw_policy_file *policy, uint32_t i,
                      struct gw_error *error)
{
    struct gw_queue_config *queue = &policy->queues[i];
    struct gw_option_texts accounts = {0};
    const struct gw_option rows[] = {
        {"name", 0, GW_OPTION_TEXT, &queue->name, NULL, NULL},
        {"priority", 0, GW_OPTION_I32, &queue->priority, NULL, NULL},
        {"default-time-limit", 0, GW_OPTION_DURATION, &queue->default_time_limit_ns, NULL, NULL},
        {"requeue", 0, GW_OPTION_FLAG, &queue->requeue, NULL, NULL},
        {"workers", 0, GW_OPTION_TEXT, &queue->workers, NULL, NULL},
        {"accounts", 0, GW_OPTION_TEXTS, &accounts, NULL, NULL},
        LIMITS(queue->limits),
        {0},
    };
    queue->name = "";
    int rc = gw_config_file_apply_item(
        file, &(struct gw_config_group){.name = "queues", .rows = rows}, i, error);
    queue->accounts = take(policy, &accounts);
    queue->account_count = (uint32_t)accounts.count;
    return rc;
}

static int read_rest(struct gw_config_file *file, struct gw_cluster_policy *policy,
                     struct gw_error *error)
{
    const struct gw_option rows[] = {
        {"default-account", 0, GW_OPTION_TEXT, &policy->default_account, NULL, NULL},
        {"default-queue", 0, GW_OPTION_TEXT, &policy->default_queue, NULL, NULL},
        {"half-life", 0, GW_OPTION_DURATION, &policy->usage_halves_ns, NULL, NULL},
        {"preempt-after", 0, GW_OPTION_DURATION, &policy->preempt_after_ns, NULL, NULL},
        {"gpu-weight", 0, GW_OPTION_WEIGHT, &policy->gpu_weight, NULL, NULL},
        {"slot-weight", 0, GW_OPTION_WEIGHT, &policy->slot_weight, NULL, NULL},
        {"memory-gib-weight", 0, GW_OPTION_WEIGHT, &policy->memory_gib_weight, NULL, NULL},
        {0},
    };
    char where[PATH_MAX + 32];
    policy->preempt_after_ns = GW_PREEMPT_AFTER_NS;
    policy->usage_halves_ns = GW_USAGE_HALVES_NS;
    const int rc = gw_config_file_apply(
        file, &(struct gw_config_group){.name = "policy", .rows = rows}, error);
    if (rc < 0 || policy->usage_halves_ns)
        return rc;
    gw_config_file_where(file, "policy", 0, where);
    return gw_error_set(error, GW_EINVAL,
                        "%s: half-life is 0, so that no usage would count: give 7d, for example",
                        where);
}

/* Returns true if the text has these two words next to each other, as whole words. Errors have bad
 * names in quotes, and 80 bytes of them. */
static bool names(const char *text, const char *kind, const char *name)
{
    char both[2 * GW_ACCOUNT_NAME_MAX], quoted[2 * GW_ACCOUNT_NAME_MAX];
    const int length = snprintf(both, sizeof both, "%s %s", kind, name);
    (void)snprintf(quoted, sizeof quoted, "%s \"%.80s\"", kind, name);
    if (strstr(text, quoted))
        return true;
    for (const char *at = text; (at = strstr(at, both)); at++)
        if (!isalnum((unsigned char)at[length]) &&
            (!at[length] || !strchr("_.-@", at[length]) || at[length + 1] == ' '))
            return true;
    return false;
}

/* Puts the line of the entry that an error is about before its text. The last entry counts: of two
 * with one name, the second is wrong. */
static int place(const struct gw_config_file *file, const struct gw_cluster_policy *policy,
                 struct gw_error *error)
{
    char where[PATH_MAX + 32];
    gw_config_file_where(file, "policy", 0, where);
    for (uint32_t i = 0; i < policy->account_count; i++)
        if (names(error->text, "account", policy->accounts[i].name))
            gw_config_file_where(file, "accounts", i, where);
    for (uint32_t i = 0; i < policy->queue_count; i++)
        if (names(error->text, "queue", policy->queues[i].name))
            gw_config_file_where(file, "queues", i, where);
    return gw_error_prefix(error, "%s", where);
}

/* Refuses more entries than the arrays have room for. */
static int check_count(const struct gw_config_file *file, const char *list, uint32_t most,
                       struct gw_error *error)
{
    char where[PATH_MAX + 32];
    if (gw_config_file_count(file, list) <= most)
        return 0;
    gw_config_file_where(file, list, most, where);
    return gw_error_set(error, GW_EINVAL, "%s: there are %u %s, and the most is %u", where,
                        gw_config_file_count(file, list), list, most);
}

static int read_policy(struct gw_config_file *file, struct gw_policy_file *policy,
                       struct gw_error *error)
{
    const uint32_t accounts = gw_config_file_count(file, "accounts");
    const uint32_t queues = gw_config_file_count(file, "queues");
    int rc = check_count(file, "accounts", GW_ACCOUNTS_MAX, error);
    if (rc == 0)
        rc = check_count(file, "queues", GW_QUEUES_MAX, error);
    if (rc < 0)
        return rc;
    policy->accounts = calloc(accounts + 1, sizeof *policy->accounts);
    policy->queues = calloc(queues + 1, sizeof *policy->queues);
    if (!policy->accounts || !policy->queues)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    for (uint32_t i = 0; rc == 0 && i < accounts; i++)
        rc = read_account(file, policy, i, error);
    for (uint32_t i = 0; rc == 0 && i < queues; i++)
        rc = read_queue(file, policy, i, error);
    if (rc == 0)
        rc = read_rest(file, &policy->policy, error);
    policy->policy.accounts = policy->accounts;
    policy->policy.queues = policy->queues;
    policy->policy.account_count = accounts;
    policy->policy.queue_count = queues;
    if (rc < 0 || (!accounts && !queues && !gw_config_file_has(file, "policy")))
        return rc;
    rc = gw_account_config_check(&policy->policy, error);
    return rc < 0 ? place(file, &policy->policy, error) : 0;
}

int gw_policy_file_read(struct gw_config_file *file, struct gw_policy_file **policy,
                        struct gw_error *error)
{
    struct gw_policy_file *read = calloc(1, sizeof *read);
    if (!read)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    int rc = read_policy(file, read, error);
    if (rc < 0)
        gw_policy_file_free(read);
    else
        *policy = read;
    return rc;
}

void gw_policy_file_free(struct gw_policy_file *policy)
{
    for (uint32_t i = 0; policy && i < policy->text_count; i++)
        free(policy->texts[i]);
    if (policy) {
        free(policy->accounts);
        free(policy->queues);
    }
    free(policy);
}
