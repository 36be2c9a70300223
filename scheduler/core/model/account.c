/* The account tree, its usage and its counters.
 *
 * Invariants: while there is a policy, each job with tasks to place has a payer. The counters of a
 * holder are the sums over the attempts that are billed and the jobs that have not ended, of its
 * jobs and those of the holders below it. The rate of a payer is the sum of the weights of its
 * billed attempts. */
#include "scheduler/core/model/account.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITE_NS (60 * GW_NS_PER_S)
#define HORIZON (1.0 / 7) /* of a half-life */

/* Durable usage of a payer. */
struct usage_record {
    double usage;
    uint64_t wall_ns;
};

static void key_of(const char *account, const char *user, char key[GW_ACCOUNT_KEY_MAX])
{
    (void)snprintf(key, GW_ACCOUNT_KEY_MAX, "%s/%s", account, user);
}

/* Returns which part of a usage is gone after a time, counted in half-lives: 1 - 2^-time. The core
 * does without the mathematical library. The sum is exact for short times, too. */
static double part_gone(double halves)
{
    if (halves >= 64)
        return 1;
    unsigned whole = (unsigned)halves;
    const double x = (halves - whole) * M_LN2;
    double term = x, gone = 0;
    for (int i = 2; term > 1e-18 || term < -1e-18; i++) {
        gone += term;
        term *= -x / i;
    }
    for (; whole > 0; whole--)
        gone = 0.5 + gone / 2;
    return gone;
}

static double halved(const struct gw_accounts *accounts, double usage, double seconds)
{
    return usage * (1 - part_gone(seconds / accounts->halves_s));
}

/* Returns the usage that grows from 0 in some time, by `rate` in each second. */
static double usage_after(const struct gw_accounts *accounts, double rate, double seconds)
{
    return rate * accounts->halves_s / M_LN2 * part_gone(seconds / accounts->halves_s);
}

static double seconds_of(uint64_t ns)
{
    return (double)ns / (double)GW_NS_PER_S;
}

static double usage_at(const struct gw_accounts *accounts, const struct gw_payer *payer,
                       uint64_t now_ns)
{
    const double seconds = seconds_of(now_ns - payer->at_ns);
    return halved(accounts, payer->usage, seconds) + usage_after(accounts, payer->rate, seconds);
}

double gw_account_usage(const struct gw_sched *sched, const struct gw_payer *payer)
{
    return usage_at(sched->accounts, payer, sched->now_ns);
}

double gw_account_expected(const struct gw_accounts *accounts, const struct gw_payer *payer,
                           uint64_t now_ns)
{
    return usage_at(accounts, payer, now_ns) + payer->rate * accounts->halves_s * HORIZON;
}

void gw_account_add_rate(const struct gw_accounts *accounts, struct gw_payer *payer,
                         uint64_t now_ns, double rate)
{
    payer->usage = usage_at(accounts, payer, now_ns);
    payer->at_ns = now_ns;
    payer->rate += rate;
}

static void bring_forward(const struct gw_sched *sched, struct gw_payer *payer)
{
    gw_account_add_rate(sched->accounts, payer, sched->now_ns, 0);
}

/* -- Look-ups --------------------------------------------------------------------------------- */

struct gw_account *gw_account_root(const struct gw_accounts *accounts)
{
    return &accounts->items[accounts->policy.account_count];
}

struct gw_account *gw_account_find(const struct gw_accounts *accounts, const char *name)
{
    uint64_t at;
    return gw_strmap_get(&accounts->names, name, &at) ? &accounts->items[at] : NULL;
}

struct gw_account *gw_account_of_user(const struct gw_accounts *accounts, const char *user)
{
    uint64_t at;
    if (gw_strmap_get(&accounts->users, user, &at))
        return &accounts->items[at];
    const char *other = accounts->policy.default_account;
    return other && *other ? gw_account_find(accounts, other) : NULL;
}

struct gw_submit_queue *gw_account_queue(const struct gw_accounts *accounts, const char *name)
{
    for (uint32_t i = 0; i < accounts->policy.queue_count; i++)
        if (strcmp(accounts->policy.queues[i].name, name) == 0)
            return &accounts->queues[i];
    return NULL;
}

bool gw_account_is_below(const struct gw_account *account, const struct gw_account *top)
{
    for (; account; account = account->parent)
        if (account == top)
            return true;
    return false;
}

const char *gw_account_user(const struct gw_sched *sched, uint32_t uid, char text[GW_USER_NAME_MAX])
{
    const char *user = gw_user_name(sched, uid, text);
    /* Clients without a token are the owner's. */
    return user == text && sched->options.owner ? sched->options.owner : user;
}

/* -- Usage ------------------------------------------------------------------------------------ */

static const struct usage_record *record_of(const struct gw_sched *sched, const char *key)
{
    uint64_t at;
    return gw_strmap_get(&sched->usages, key, &at) ? (const struct usage_record *)(uintptr_t)at
                                                   : NULL;
}

/* Takes over the usage that was durable, scaled to the present time. */
static void load(const struct gw_sched *sched, struct gw_payer *payer)
{
    char key[GW_ACCOUNT_KEY_MAX];
    key_of(payer->account->holder.name, payer->user, key);
    const struct usage_record *record = record_of(sched, key);
    payer->at_ns = sched->now_ns;
    if (!record)
        return;
    payer->durable_wall_ns = record->wall_ns;
    const uint64_t age_ns = sched->wall_ns > record->wall_ns ? sched->wall_ns - record->wall_ns : 0;
    payer->usage = halved(sched->accounts, record->usage, seconds_of(age_ns));
}

void gw_sched_apply_account_used(struct gw_sched *sched, const struct gw_fact_account_used *fact)
{
    char key[GW_ACCOUNT_KEY_MAX];
    key_of(fact->account, fact->user, key);
    struct usage_record *record = (struct usage_record *)(uintptr_t)record_of(sched, key);
    if (!record) {
        record = malloc(sizeof *record);
        GW_MUST_PTR(record);
        GW_MUST(gw_strmap_put(&sched->usages, key, (uintptr_t)record));
    }
    memcpy(&record->usage, &fact->usage, sizeof record->usage);
    record->wall_ns = fact->wall_ns;
}

/* Returns true if a payer used something since its usage was durable. Usage that only halves need
 * not be written again. */
static bool has_grown(const struct gw_sched *sched, const struct gw_payer *payer, const char *key)
{
    const struct usage_record *record = record_of(sched, key);
    double known = 0;
    if (record && sched->wall_ns > record->wall_ns)
        known =
            halved(sched->accounts, record->usage, seconds_of(sched->wall_ns - record->wall_ns));
    else if (record)
        known = record->usage;
    return payer->usage > known * (1 + 1e-6) + 1e-3;
}

void gw_account_write(struct gw_sched *sched, bool now)
{
    struct gw_accounts *accounts = sched->accounts;
    if (!accounts || (!now && sched->now_ns - accounts->written_ns < WRITE_NS))
        return;
    accounts->written_ns = sched->now_ns;
    for (size_t i = 0; i < accounts->payers.count; i++) {
        struct gw_payer *payer = accounts->payers.items[i];
        char key[GW_ACCOUNT_KEY_MAX];
        uint64_t bits;
        key_of(payer->account->holder.name, payer->user, key);
        bring_forward(sched, payer);
        memcpy(&bits, &payer->usage, sizeof bits);
        if (has_grown(sched, payer, key))
            GW_FACT(sched, account_used, .account = payer->account->holder.name,
                    .user = payer->user, .usage = bits, .wall_ns = sched->wall_ns);
    }
}

static int by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct usage_keys {
    const char **items;
    size_t count, capacity;
};

/* Lists the keys of the durable usage, in the same order in each run. */
static void list_usages(const struct gw_sched *sched, struct usage_keys *keys)
{
    size_t at = 0;
    const char *key;
    uint64_t value;
    while (gw_strmap_next(&sched->usages, &at, &key, &value))
        GW_MUST(gw_array_push(keys, key));
    if (keys->count)
        qsort(keys->items, keys->count, sizeof *keys->items, by_key);
}

void gw_account_dump(const struct gw_sched *sched, struct gw_buffer *out)
{
    struct usage_keys keys = {0};
    list_usages(sched, &keys);
    for (size_t i = 0; i < keys.count; i++) {
        const struct usage_record *record = record_of(sched, keys.items[i]);
        GW_MUST(gw_buffer_append(out, keys.items[i], strlen(keys.items[i]) + 1));
        GW_MUST(gw_buffer_append(out, &record->usage, sizeof record->usage));
        GW_MUST(gw_buffer_append(out, &record->wall_ns, sizeof record->wall_ns));
    }
    gw_array_deinit(&keys);
}

/* -- Payers ----------------------------------------------------------------------------------- */

static struct gw_payer *payer_for(struct gw_sched *sched, struct gw_account *account,
                                  const char *user)
{
    struct gw_accounts *accounts = sched->accounts;
    char key[GW_ACCOUNT_KEY_MAX];
    uint64_t at;
    key_of(account->holder.name, user, key);
    if (gw_strmap_get(&accounts->payer_keys, key, &at))
        return accounts->payers.items[at];
    struct gw_payer *payer = gw_arena_alloc(&accounts->arena, sizeof *payer);
    GW_MUST_PTR(payer);
    payer->account = account;
    payer->number = (uint32_t)accounts->payers.count;
    payer->user = gw_arena_strdup(&accounts->arena, user);
    GW_MUST_PTR(payer->user);
    load(sched, payer);
    GW_MUST(gw_strmap_put(&accounts->payer_keys, key, accounts->payers.count));
    GW_MUST(gw_array_push(&accounts->payers, payer));
    GW_MUST(gw_array_push(&account->payers, payer));
    accounts->stale = true;
    return payer;
}

/* Makes the payers of all durable usage. The usage of an account contains that of users whose jobs
 * the scheduler has forgotten. */
static void load_payers(struct gw_sched *sched)
{
    struct usage_keys keys = {0};
    list_usages(sched, &keys);
    for (size_t i = 0; i < keys.count; i++) {
        char account[GW_ACCOUNT_KEY_MAX];
        const char *user = strchr(keys.items[i], '/') + 1;
        (void)snprintf(account, sizeof account, "%.*s", (int)(user - keys.items[i]) - 1,
                       keys.items[i]);
        struct gw_account *found = gw_account_find(sched->accounts, account);
        if (found)
            (void)payer_for(sched, found, user);
    }
    gw_array_deinit(&keys);
}

void gw_account_begin(struct gw_sched *sched)
{
    if (!sched->accounts)
        return;
    for (size_t i = 0; i < sched->accounts->payers.count; i++)
        load(sched, sched->accounts->payers.items[i]);
    load_payers(sched);
}

struct gw_account_holder *gw_account_holder_first(const struct gw_job *job)
{
    return job->submit_queue ? &job->submit_queue->holder : &job->payer->account->holder;
}

struct gw_account_holder *gw_account_holder_next(const struct gw_job *job,
                                                 const struct gw_account_holder *holder)
{
    if (job->submit_queue && holder == &job->submit_queue->holder)
        return &job->payer->account->holder;
    return holder->above;
}

bool gw_account_holds(const struct gw_job *job, const struct gw_account_holder *holder)
{
    if (!job->payer)
        return false;
    GW_EACH_ACCOUNT_HOLDER(job, of)
    if (of == holder)
        return true;
    return false;
}

static bool is_call(const struct gw_job *job)
{
    const struct gw_msg_spec *spec = &job->specs.items[0].message;
    return spec->actor && spec->actor != GW_ACTOR_NEW;
}

void gw_account_pay(struct gw_sched *sched, struct gw_job *job)
{
    const struct gw_accounts *accounts = sched->accounts;
    job->payer = NULL;
    job->submit_queue = NULL;
    job->queued = false;
    job->billed = 0;
    if (!accounts || job->specs.count == 0 || is_call(job))
        return;
    const struct gw_msg_spec *spec = &job->specs.items[0].message;
    struct gw_account *account = NULL;
    char text[GW_USER_NAME_MAX];
    const char *user = gw_account_user(sched, job->uid, text);
    if (spec->account && *spec->account)
        account = gw_account_find(accounts, spec->account);
    if (!account)
        account = gw_account_of_user(accounts, user);
    job->payer = payer_for(sched, account ? account : gw_account_root(accounts), user);
    if (spec->queue && *spec->queue)
        job->submit_queue = gw_account_queue(accounts, spec->queue);
    if (job->state != GW_JOB_ENDED && spec->kind != GW_SPEC_VALUE)
        gw_account_rejoin(job); /* a value only takes room among the stored results */
}

void gw_account_rejoin(struct gw_job *job)
{
    if (!job->payer || job->queued)
        return;
    job->queued = true;
    GW_EACH_ACCOUNT_HOLDER(job, holder)
    holder->use.queued_jobs++;
}

void gw_account_leave(struct gw_job *job)
{
    if (!job->queued)
        return;
    job->queued = false;
    GW_EACH_ACCOUNT_HOLDER(job, holder)
    holder->use.queued_jobs--;
}

/* -- Attempts --------------------------------------------------------------------------------- */

static void hold(const struct gw_attempt *attempt, struct gw_account_holder *holder)
{
    holder->use.slots += attempt->lane->shape->slots;
    holder->use.gpu_thousandths += gw_sched_attempt_gpu_thousandths(attempt);
    holder->use.running_jobs += attempt->job->billed == 0;
}

void gw_account_note_claim(struct gw_account_holder *holder, uint32_t number)
{
    const struct gw_account_claim *claim = &holder->claims[number];
    const bool empty = !claim->job && !claim->leaving.slots && !claim->leaving.gpu_thousandths;
    holder->claiming &= ~(1U << number);
    holder->claiming |= (uint32_t)!empty << number;
}

/* Counts an attempt among those that end because they are preempted, or no more. */
static void leave(const struct gw_attempt *attempt, struct gw_account_holder *holder, bool leaves)
{
    struct gw_account_use *leaving = &holder->claims[attempt->preempted].leaving;
    const uint64_t sign = leaves ? 1 : UINT64_MAX; /* -1 */
    leaving->slots += sign * attempt->lane->shape->slots;
    leaving->gpu_thousandths += sign * gw_sched_attempt_gpu_thousandths(attempt);
    gw_account_note_claim(holder, attempt->preempted);
}

static void note_use(struct gw_accounts *accounts, const struct gw_job *job)
{
    accounts->uses_changed |= gw_account_limited(job);
}

/* The job has begun to run, or runs no more. */
static void note_run(struct gw_accounts *accounts, const struct gw_job *job)
{
    if (gw_account_limited(job) && job->state != GW_JOB_ENDED)
        GW_MUST(gw_array_push(&accounts->moved, job->id));
}

static void change_rate(struct gw_accounts *accounts, struct gw_payer *payer, double weight)
{
    payer->rate += weight;
    accounts->rate += weight;
    accounts->rate_moved += fabs(weight);
}

void gw_account_begun(struct gw_sched *sched, struct gw_attempt *attempt)
{
    struct gw_job *job = attempt->job;
    attempt->billed = attempt->is_long || attempt->gang;
    if (!attempt->billed)
        return;
    bring_forward(sched, job->payer);
    change_rate(sched->accounts, job->payer, gw_account_weight(sched->accounts, attempt));
    GW_EACH_ACCOUNT_HOLDER(job, holder)
    {
        hold(attempt, holder);
        if (attempt->preempted)
            leave(attempt, holder, true);
    }
    if (job->billed++ == 0)
        note_run(sched->accounts, job);
    note_use(sched->accounts, job);
}

void gw_account_adopted(struct gw_sched *sched, const struct gw_attempt *attempt, uint64_t ran_ns)
{
    struct gw_payer *payer = attempt->job->payer;
    const uint64_t known_ns = payer->durable_wall_ns;
    const uint64_t since_ns = sched->wall_ns > known_ns ? sched->wall_ns - known_ns : 0;
    const double seconds = seconds_of(ran_ns < since_ns ? ran_ns : since_ns);
    bring_forward(sched, payer);
    payer->usage +=
        usage_after(sched->accounts, gw_account_weight(sched->accounts, attempt), seconds);
}

void gw_account_ended(struct gw_sched *sched, struct gw_attempt *attempt, uint64_t run_ns)
{
    struct gw_job *job = attempt->job;
    const double weight = gw_account_weight(sched->accounts, attempt);
    if (!attempt->billed) {
        if (attempt->ends_next) /* gw_account_adopted has added it */
            return;
        const uint64_t ns = attempt->started_ns && sched->now_ns - attempt->started_ns > run_ns
                                ? sched->now_ns - attempt->started_ns
                                : run_ns;
        if (ns) {
            bring_forward(sched, job->payer);
            job->payer->usage += weight * seconds_of(ns);
        }
        return;
    }
    attempt->billed = false;
    bring_forward(sched, job->payer);
    change_rate(sched->accounts, job->payer, -weight);
    if (--job->billed == 0)
        note_run(sched->accounts, job);
    GW_EACH_ACCOUNT_HOLDER(job, holder)
    {
        holder->use.slots -= attempt->lane->shape->slots;
        holder->use.gpu_thousandths -= gw_sched_attempt_gpu_thousandths(attempt);
        holder->use.running_jobs -= job->billed == 0;
        if (attempt->preempted)
            leave(attempt, holder, false);
    }
    note_use(sched->accounts, job);
}

void gw_account_preempt(struct gw_accounts *accounts, struct gw_attempt *attempt, uint32_t number)
{
    for (int leaves = 0; leaves < 2; leaves++) {
        if (leaves)
            attempt->preempted = number & 0xf;
        if (!attempt->billed || !attempt->preempted)
            continue;
        GW_EACH_ACCOUNT_HOLDER(attempt->job, holder)
        leave(attempt, holder, leaves);
        note_use(accounts, attempt->job);
    }
}

/* -- The order -------------------------------------------------------------------------------- */

bool gw_account_limited(const struct gw_job *job)
{
    return job->payer && (job->payer->account->holder.limited ||
                          (job->submit_queue && job->submit_queue->holder.limited));
}

void gw_account_rank(struct gw_payer *payer, uint32_t rank)
{
    payer->rank = rank;
}

void gw_account_ranked(struct gw_sched *sched)
{
    struct gw_accounts *accounts = sched->accounts;
    accounts->stale = false;
    accounts->rate_moved = 0;
    accounts->rankings++;
    if (sched->now_ns - accounts->period_ns < GW_POLICY_RANK_NS)
        return;
    accounts->period_ns = sched->now_ns;
    accounts->rankings = 0;
}

void gw_account_quotas_reviewed(struct gw_sched *sched)
{
    if (!sched->accounts)
        return;
    sched->accounts->uses_changed = false;
    gw_array_clear(&sched->accounts->moved);
}

/* -- The policy ------------------------------------------------------------------------------- */

static const char *copy(struct gw_accounts *accounts, const char *text)
{
    char *copied = gw_arena_strdup(&accounts->arena, text ? text : "");
    GW_MUST_PTR(copied);
    return copied;
}

static const char *const *copy_list(struct gw_accounts *accounts, const char *const *list,
                                    uint32_t count)
{
    const char **copied = gw_arena_alloc(&accounts->arena, (count + 1) * sizeof *copied);
    GW_MUST_PTR(copied);
    for (uint32_t i = 0; i < count; i++)
        copied[i] = copy(accounts, list[i]);
    return copied;
}

static void copy_policy(struct gw_accounts *accounts, const struct gw_cluster_policy *policy)
{
    struct gw_arena *arena = &accounts->arena;
    struct gw_account_config *configs =
        gw_arena_copy(arena, policy->accounts, policy->account_count * sizeof *configs);
    struct gw_queue_config *queues =
        gw_arena_alloc(arena, (policy->queue_count + 1) * sizeof *queues);
    GW_MUST_PTR(configs);
    GW_MUST_PTR(queues);
    accounts->policy = *policy;
    for (uint32_t i = 0; i < policy->account_count; i++) {
        configs[i].name = copy(accounts, configs[i].name);
        configs[i].parent = copy(accounts, configs[i].parent);
        configs[i].users = copy_list(accounts, configs[i].users, configs[i].user_count);
    }
    for (uint32_t i = 0; i < policy->queue_count; i++) {
        queues[i] = policy->queues[i];
        queues[i].name = copy(accounts, queues[i].name);
        queues[i].workers = copy(accounts, queues[i].workers);
        queues[i].accounts = copy_list(accounts, queues[i].accounts, queues[i].account_count);
    }
    accounts->policy.accounts = configs;
    accounts->policy.queues = queues;
    accounts->policy.default_account = copy(accounts, policy->default_account);
    accounts->policy.default_queue = copy(accounts, policy->default_queue);
    accounts->halves_s =
        seconds_of(policy->usage_halves_ns ? policy->usage_halves_ns : GW_USAGE_HALVES_NS);
    const bool weighted =
        policy->gpu_weight > 0 || policy->slot_weight > 0 || policy->memory_gib_weight > 0;
    accounts->gpu_weight = weighted ? policy->gpu_weight : 1;
    accounts->slot_weight = weighted ? policy->slot_weight : 1.0 / 16;
    accounts->memory_gib_weight = policy->memory_gib_weight;
}

static bool limits_runs(const struct gw_account_limits *limits)
{
    return limits->gpus || limits->slots || limits->running_jobs;
}

/* Accounts below an account with limits are limited, too. */
static bool is_limited(const struct gw_account *account)
{
    for (; account; account = account->parent)
        if (account->config && limits_runs(&account->config->limits))
            return true;
    return false;
}

static void build(struct gw_accounts *accounts)
{
    const uint32_t count = accounts->policy.account_count;
    accounts->items = gw_arena_alloc(&accounts->arena, (count + 1) * sizeof *accounts->items);
    accounts->queues = gw_arena_alloc(&accounts->arena, (accounts->policy.queue_count + 1) *
                                                            sizeof *accounts->queues);
    GW_MUST_PTR(accounts->items);
    GW_MUST_PTR(accounts->queues);
    struct gw_account *root = gw_account_root(accounts);
    root->holder.name = "";
    for (uint32_t i = 0; i < count; i++)
        GW_MUST(gw_strmap_put(&accounts->names, accounts->policy.accounts[i].name, i));
    for (uint32_t i = 0; i < count; i++) {
        const struct gw_account_config *config = &accounts->policy.accounts[i];
        struct gw_account *account = &accounts->items[i];
        account->config = config;
        account->parent = *config->parent ? gw_account_find(accounts, config->parent) : root;
        account->holder = (struct gw_account_holder){.name = config->name,
                                                     .limits = &config->limits,
                                                     .above = &account->parent->holder,
                                                     .strict = config->strict};
        GW_MUST(gw_array_push(&account->parent->children, account));
        for (uint32_t k = 0; k < config->user_count; k++)
            GW_MUST(gw_strmap_put(&accounts->users, config->users[k], i));
    }
    for (uint32_t i = 0; i < count; i++)
        accounts->items[i].holder.limited = is_limited(&accounts->items[i]);
    for (uint32_t i = 0; i < accounts->policy.queue_count; i++) {
        const struct gw_queue_config *config = &accounts->policy.queues[i];
        accounts->queues[i].config = config;
        accounts->queues[i].holder =
            (struct gw_account_holder){.name = config->name,
                                       .limits = &config->limits,
                                       .strict = true,
                                       .limited = limits_runs(&config->limits)};
    }
}

static void free_accounts(struct gw_accounts *accounts)
{
    if (!accounts)
        return;
    for (uint32_t i = 0; i <= accounts->policy.account_count; i++) {
        gw_array_deinit(&accounts->items[i].children);
        gw_array_deinit(&accounts->items[i].payers);
    }
    gw_array_deinit(&accounts->payers);
    gw_array_deinit(&accounts->moved);
    gw_strmap_deinit(&accounts->names);
    gw_strmap_deinit(&accounts->users);
    gw_strmap_deinit(&accounts->payer_keys);
    gw_arena_deinit(&accounts->arena);
    free(accounts);
}

/* Usage follows a payer whose account still exists. */
static void transfer_usage(struct gw_sched *sched, const struct gw_accounts *before)
{
    for (size_t i = 0; before && i < before->payers.count; i++) {
        const struct gw_payer *old = before->payers.items[i];
        struct gw_account *account = gw_account_find(sched->accounts, old->account->holder.name);
        struct gw_payer *payer = account ? payer_for(sched, account, old->user) : NULL;
        if (payer) {
            payer->usage = old->usage;
            payer->durable_wall_ns = old->durable_wall_ns;
        }
    }
}

void gw_accounts_set(struct gw_sched *sched, const struct gw_cluster_policy *policy)
{
    struct gw_accounts *before = sched->accounts;
    for (size_t i = 0; before && i < before->payers.count; i++)
        bring_forward(sched, before->payers.items[i]);
    sched->accounts = NULL;
    if (policy) {
        sched->accounts = calloc(1, sizeof *sched->accounts);
        GW_MUST_PTR(sched->accounts);
        copy_policy(sched->accounts, policy);
        build(sched->accounts);
        sched->accounts->written_ns = before ? before->written_ns : sched->now_ns;
        sched->accounts->stale = true;
        sched->accounts->uses_changed = true;
        transfer_usage(sched, before);
        load_payers(sched);
    }
    for (struct gw_job *job = sched->first_job; job; job = job->next) {
        gw_account_pay(sched, job);
        for (size_t i = 0; i < job->specs.count && job->specs.capacity; i++)
            job->specs.items[i].window = 0; /* limited accounts have none */
    }
    for (size_t i = 0; i < sched->attempts.count; i++) {
        struct gw_attempt *attempt = &sched->attempts.items[i];
        attempt->billed = false;
        if (attempt->state != GW_ATTEMPT_FREE && attempt->job->payer)
            gw_account_begun(sched, attempt);
    }
    free_accounts(before);
    sched->freed = true;
}

void gw_accounts_deinit(struct gw_sched *sched)
{
    size_t at = 0;
    const char *key;
    uint64_t record;
    free_accounts(sched->accounts);
    while (gw_strmap_next(&sched->usages, &at, &key, &record))
        free((void *)(uintptr_t)record);
    gw_strmap_deinit(&sched->usages);
}
