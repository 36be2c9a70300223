/* The policy of a cluster as its admin writes it: accounts with shares and quotas, and queues.
 * Plain data: who fills it in owns it, and readers copy what they keep. Account, user and queue
 * names are compared byte by byte. */
#ifndef GW_SCHEDULER_CORE_ACCOUNT_CONFIG_H
#define GW_SCHEDULER_CORE_ACCOUNT_CONFIG_H

#include <gangway/error.h>

#include <stdbool.h>
#include <stdint.h>

enum {
    GW_ACCOUNTS_MAX = 1000,       /* in a policy */
    GW_ACCOUNT_USERS_MAX = 10000, /* in all accounts together */
    GW_QUEUES_MAX = 100,          /* in a policy */
    GW_ACCOUNT_NAME_MAX = 64,     /* bytes of the name of an account, a user or a queue */
    GW_ACCOUNT_DEPTH_MAX = 16,    /* accounts above each other */
    GW_ACCOUNT_SHARES_MAX = 1000000,
    GW_QUEUE_PRIORITY_MAX = 1000, /* the least is the negative of it */
};
#define GW_USAGE_HALVES_NS (7 * 24 * 3600 * UINT64_C(1000000000)) /* default */
#define GW_PREEMPT_AFTER_NS (600 * UINT64_C(1000000000))          /* of a configuration file */

/* Limits of an account or a queue. 0: no limit; below 0: refused. The limits of an account apply to
 * the account and all accounts below it together. */
struct gw_account_limits {
    int64_t gpus, slots;   /* in use at the same time */
    int64_t running_jobs;  /* jobs with a running task */
    int64_t queued_jobs;   /* jobs that have not ended, running ones included */
    int64_t time_limit_ns; /* longest time limit that a task may ask for */
    int64_t stored_bytes;  /* results of its jobs that are kept; checked when a job is submitted */
};

/* An account: a team, a project. */
struct gw_account_config {
    const char *name;
    const char *parent; /* name of the account above it; NULL or "": none */
    int64_t shares;     /* in proportion to the other accounts and users of the same parent, at
                           least 1; each user has 1 share */
    struct gw_account_limits limits;
    bool strict; /* false: the account may use more than its `gpus` and `slots` while others leave
                    them idle */
    const char *const *users; /* names of the users who belong to it */
    uint32_t user_count;
};

/* A queue (partition) that jobs are submitted to. */
struct gw_queue_config {
    const char *name;
    struct gw_account_limits limits; /* of all its jobs together */
    int64_t default_time_limit_ns;   /* of a task that asks for none; 0: none */
    int32_t priority;                /* is added to the priority of its tasks */
    bool requeue;        /* its tasks may be preempted even if they have saved no checkpoint */
    const char *workers; /* names of workers or hosts, "a,b", on which its tasks run; NULL or "":
                            any */
    const char *const *accounts; /* that may use it, with all accounts below them */
    uint32_t account_count;      /* 0: all accounts */
};

struct gw_cluster_policy {
    const struct gw_account_config *accounts;
    const struct gw_queue_config *queues;
    uint32_t account_count, queue_count;
    const char *default_account; /* of users that no account names; NULL or "": such users are
                                    refused */
    const char *default_queue;   /* of jobs that name no queue; NULL or "": they are in no queue */
    uint64_t usage_halves_ns;    /* half-life: usage of this age counts half; 0:
GW_USAGE_HALVES_NS */
    uint64_t preempt_after_ns;   /* an attempt runs at least this long before it is preempted */
    /* The costs of a second of use: of a GPU, of a slot, and of a GiB of requested memory. If all
     * are 0: 1, 1/16 and 0. */
    double gpu_weight, slot_weight, memory_gib_weight;
};

/* gw_account_config_check returns 0 if a scheduler can follow the policy. Otherwise it returns
 * GW_EINVAL, and the text names the entry and what to do: a name that is empty, too long, has other
 * characters than letters, digits and "_.-@", or is used twice; an unknown parent, account or
 * default; a cycle of accounts; shares below 1; a negative limit, weight or time; a default time
 * limit above the limit; a user in two accounts; or too many entries. Any thread may call it. */
int gw_account_config_check(const struct gw_cluster_policy *policy, struct gw_error *error);

/* gw_account_config_check_user returns GW_EINVAL if the user is in no account of the policy and the
 * policy has no default account. `policy` was checked. Any thread may call it. */
int gw_account_config_check_user(const struct gw_cluster_policy *policy, const char *user,
                                 struct gw_error *error);

#endif
