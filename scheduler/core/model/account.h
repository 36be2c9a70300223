/* Accounts: a tree of teams and projects whose leaves are users, with their usage and their quotas.
 *
 * Rules. A job is paid by one payer: a user in an account. Usage is weighted resource-seconds, and
 * halves with the half-life of the policy. It is stored with its time and scaled when it is read.
 * An attempt with a slot of its own is billed while it runs; a short task that queued at its
 * worker, at its end. Quotas count the attempts that are billed while they run. Work of accounts
 * with quotas never queues at workers, so all of it is counted.
 *
 * The policy is not durable: it is given again at each start. Usage is durable, by the names of the
 * account and the user, so a policy that comes back finds it. */
#ifndef GW_SCHEDULER_CORE_ACCOUNT_H
#define GW_SCHEDULER_CORE_ACCOUNT_H

#include "scheduler/core/model/account_config.h"
#include "scheduler/core/model/state.h"
#include "scheduler/core/model/user.h"

enum { GW_ACCOUNT_KEY_MAX = 2 * GW_ACCOUNT_NAME_MAX + 256 };

/* The state of the quotas of an account and a queue if a task started. */
enum gw_quota {
    GW_QUOTA_WITHIN,
    GW_QUOTA_BORROWS,  /* only with resources that others leave idle */
    GW_QUOTA_EXCEEDED, /* it must wait for other tasks of its account or queue */
};

/* Resources that jobs of an account or a queue hold now. */
struct gw_account_use {
    uint64_t gpu_thousandths, slots;
    uint32_t running_jobs, queued_jobs;
};

/* A part of the running work: its job, and the resources that it holds. */
struct gw_account_part {
    const struct gw_job *job;
    struct gw_account_use use;
};

/* Parts that may end. */
struct gw_account_parts {
    const struct gw_account_part *items;
    uint32_t count;
    bool settled; /* and all work that is preempted, while the work that starts instead has begun */
};

/* A preemption as a holder of limits sees it. Its number is that of its reservation. */
struct gw_account_claim {
    uint64_t job;                  /* whose task starts; 0: none that this holder limits */
    struct gw_account_use use;     /* the future use of this task */
    struct gw_account_use leaving; /* of the present use: of attempts that are preempted */
};

/* A holder of limits: an account, or a queue of the policy. */
struct gw_account_holder {
    const char *name;
    const struct gw_account_limits *limits;
    struct gw_account_use use;
    struct gw_account_claim claims[GW_PREEMPTED_STILL + 1]; /* by number */
    uint32_t claiming;               /* the set of those that are not empty */
    struct gw_account_holder *above; /* NULL: none */
    bool strict;                     /* no borrowing */
    bool limited;                    /* this or one above limits what may run at the same time */
};

struct gw_account {
    struct gw_account_holder holder;        /* the first field */
    const struct gw_account_config *config; /* NULL: the root */
    struct gw_account *parent;              /* NULL: the root */
    GW_ARRAY(struct gw_account *) children;
    GW_ARRAY(struct gw_payer *) payers;
};

/* A user of an account. */
struct gw_payer {
    struct gw_account *account;
    const char *user;
    double usage, rate; /* weighted seconds as of at_ns; growth in each second */
    uint64_t at_ns;
    uint64_t durable_wall_ns; /* up to this time, the loaded usage contains all use; 0: none */
    uint32_t rank;            /* smaller ranks come first; equal ones are tied */
    uint32_t number;          /* index into the list of all payers */
};

/* A queue (partition) of the policy. */
struct gw_submit_queue {
    struct gw_account_holder holder; /* the first field */
    const struct gw_queue_config *config;
};

/* The policy that the scheduler follows, and its state. */
struct gw_accounts {
    struct gw_arena arena; /* of the copy of the policy and of all that is here */
    struct gw_cluster_policy policy;
    struct gw_account *items; /* as in the policy, then the root */
    struct gw_submit_queue *queues;
    GW_ARRAY(struct gw_payer *) payers;
    struct gw_strmap names, users, payer_keys; /* -> account; -> account; "account/user" -> payer */
    double gpu_weight, slot_weight, memory_gib_weight, halves_s;
    double rate, rate_moved;        /* of all payers; begun and ended since the last ranking */
    bool stale;                     /* the order must be computed again before the next placement */
    bool uses_changed;              /* resources that count for a quota were taken or given back */
    GW_ARRAY(uint64_t) moved;       /* jobs whose gw_account_quota_kind has changed since then */
    uint32_t rankings;              /* in this period of GW_POLICY_RANK_NS */
    uint64_t period_ns, written_ns; /* begin of the period; time of the last durable usage */
};

/* gw_accounts_set makes the core follow a checked policy, which is copied; NULL: no policy. All
 * jobs that have not ended get their payers and queues anew. Usage stays. gw_accounts_deinit frees
 * it. */
void gw_accounts_set(struct gw_sched *sched, const struct gw_cluster_policy *policy);
void gw_accounts_deinit(struct gw_sched *sched);

/* gw_account_root returns the account above all others. gw_account_find returns the account with
 * this name, gw_account_of_user the account that a user belongs to, and gw_account_queue the queue
 * with this name. They return NULL if there is none. There is a policy. */
struct gw_account *gw_account_root(const struct gw_accounts *accounts);
struct gw_account *gw_account_find(const struct gw_accounts *accounts, const char *name);
struct gw_account *gw_account_of_user(const struct gw_accounts *accounts, const char *user);
struct gw_submit_queue *gw_account_queue(const struct gw_accounts *accounts, const char *name);

/* gw_account_user returns the name by which accounts know a user (borrowed). If it is unknown, it
 * is the uid as text, written to `text`. */
const char *gw_account_user(const struct gw_sched *sched, uint32_t uid,
                            char text[GW_USER_NAME_MAX]);

/* GW_EACH_ACCOUNT_HOLDER loops over what limits a job that has a payer: its queue, its account, and
 * the accounts above. gw_account_holder_first and gw_account_holder_next serve this loop. */
struct gw_account_holder *gw_account_holder_first(const struct gw_job *job);
struct gw_account_holder *gw_account_holder_next(const struct gw_job *job,
                                                 const struct gw_account_holder *holder);
#define GW_EACH_ACCOUNT_HOLDER(job, holder)                                                        \
    for (struct gw_account_holder *holder = gw_account_holder_first(job); holder;                  \
         holder = gw_account_holder_next((job), (holder)))

/* gw_account_holds returns true if a job counts for an account or a queue. */
bool gw_account_holds(const struct gw_job *job, const struct gw_account_holder *holder);

/* gw_account_is_below returns true if an account is this one or one below it. */
bool gw_account_is_below(const struct gw_account *account, const struct gw_account *top);

/* gw_account_pay sets the payer and the queue of a job that has its first spec and has not ended:
 * as the spec says, else those of its user. gw_account_leave ends that: the job has ended. Both do
 * nothing without a policy. Only for use in model/. */
void gw_account_pay(struct gw_sched *sched, struct gw_job *job);
void gw_account_leave(struct gw_job *job);

/* gw_account_rejoin: an ended job runs again. Only for use in model/. */
void gw_account_rejoin(struct gw_job *job);

/* gw_account_begun begins to bill for an attempt, gw_account_ended ends that; run_ns as in
 * gw_job_usage_ended. Its job has a payer. Only for use in model/. */
void gw_account_begun(struct gw_sched *sched, struct gw_attempt *attempt);
void gw_account_ended(struct gw_sched *sched, struct gw_attempt *attempt, uint64_t run_ns);

/* gw_account_adopted adds what an attempt used before it was adopted, but after the usage of its
 * payer was last durable: it is billed from now on, or has ended. */
void gw_account_adopted(struct gw_sched *sched, const struct gw_attempt *attempt, uint64_t ran_ns);

/* gw_account_begin loads durable usage, at the start of a term. */
void gw_account_begin(struct gw_sched *sched);

/* gw_account_usage returns the usage of a payer at this time, in weighted seconds. */
double gw_account_usage(const struct gw_sched *sched, const struct gw_payer *payer);

/* gw_account_expected returns the usage of a payer at a time plus what the running attempts will
 * add in a seventh of a half-life. By usage alone, a user who comes first would get all room until
 * the usage has grown, and with long attempts much more than the share. */
double gw_account_expected(const struct gw_accounts *accounts, const struct gw_payer *payer,
                           uint64_t now_ns);

/* gw_account_add_rate brings the usage of a payer, or of a copy, forward to a time, and adds to the
 * growth in each second. */
void gw_account_add_rate(const struct gw_accounts *accounts, struct gw_payer *payer,
                         uint64_t now_ns, double rate);

/* gw_account_limited returns true if the tasks of a job must not queue at workers. */
bool gw_account_limited(const struct gw_job *job);

/* gw_account_quota returns whether the first task of a ready queue is within its quotas. *by is the
 * first account or queue whose quota it would exceed, or NULL; `by` may be NULL. */
enum gw_quota gw_account_quota(const struct gw_queue *queue, const struct gw_account_holder **by);

/* gw_account_quota_kind returns a number. If two jobs have the same payer, queue and number, equal
 * tasks of them stand to their quotas in the same way. */
uint32_t gw_account_quota_kind(const struct gw_job *job);

/* gw_account_quota_need returns what a task of this class, or a whole gang, would use. */
struct gw_account_use gw_account_quota_need(const struct gw_resource_class *shape);

/* gw_account_quota_claim records what a job will use when the work of this preemption has ended, so
 * that others do not use it; job NULL: nothing. gw_account_note_claim keeps
 * the set of claims of a holder up to date. gw_account_preempt marks an attempt as one that was
 * told to end by this preemption, or by none (0). Only for use in model/. */
void gw_account_quota_claim(struct gw_accounts *accounts, uint32_t number,
                            const struct gw_account_part *claim);
void gw_account_note_claim(struct gw_account_holder *holder, uint32_t number);
void gw_account_preempt(struct gw_accounts *accounts, struct gw_attempt *attempt, uint32_t number);

/* gw_account_quota_without returns gw_account_quota as if these parts had ended. */
enum gw_quota gw_account_quota_without(const struct gw_queue *queue, struct gw_account_parts ended,
                                       const struct gw_account_holder **by);

/* gw_account_quota_borrows returns true if a part uses resources beyond the quota of an account or
 * queue that does not also pay for the job `other`, as if the parts `ended` had ended. Both jobs
 * have payers. */
bool gw_account_quota_borrows(const struct gw_account_part *part, const struct gw_job *other,
                              struct gw_account_parts ended);

/* gw_account_weight returns what a second of an attempt costs, gw_account_weight_of what a second
 * of these resources costs. */
double gw_account_weight(const struct gw_accounts *accounts, const struct gw_attempt *attempt);
double gw_account_weight_of(const struct gw_accounts *accounts, const struct gw_account_use *use,
                            uint64_t memory_bytes);

/* gw_account_rank, gw_account_ranked and gw_account_quotas_reviewed record the result of a new
 * order: the rank of a payer; that all have their ranks; that all ready queues have their quota. */
void gw_account_rank(struct gw_payer *payer, uint32_t rank);
void gw_account_ranked(struct gw_sched *sched);
void gw_account_quotas_reviewed(struct gw_sched *sched);

/* gw_account_write makes usage that has changed durable, at most once a minute, or at once. */
void gw_account_write(struct gw_sched *sched, bool now);

/* gw_account_dump appends the durable usage. gw_account_check asserts that the counters agree with
 * the jobs and the attempts. */
void gw_account_dump(const struct gw_sched *sched, struct gw_buffer *out);
void gw_account_check(const struct gw_sched *sched);

#endif
