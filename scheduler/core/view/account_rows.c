/* Answers about accounts: the tree with shares and usage, the queues, and a task's place in the
 * order. */
#include "scheduler/core/view/account_rows.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/forecast.h"

#include <stdio.h>

/* Adds a number, and the text that a table shows for it, to "shown". */
static void put_shown(struct gw_value *dict, const char *key, double number, const char *text)
{
    struct gw_value *shown = gw_value_find(dict, "shown");
    gw_dict_put(dict, key, gw_f64(number));
    if (!shown)
        gw_dict_put(dict, "shown", shown = gw_dict());
    gw_dict_put(shown, key, gw_str(text));
}

static void put_percent(struct gw_value *dict, const char *key, double part)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.1f%%", 100 * part);
    put_shown(dict, key, part, text);
}

static double usage_of(const struct gw_sched *sched, const struct gw_account *account)
{
    double sum = 0;
    for (size_t i = 0; i < account->payers.count; i++)
        sum += gw_account_usage(sched, account->payers.items[i]);
    for (size_t i = 0; i < account->children.count; i++)
        sum += usage_of(sched, account->children.items[i]);
    return sum;
}

/* Shows "3", or "3 of 8" if there is a limit. */
static void put_use(struct gw_value *dict, const char *key, double used, int64_t most)
{
    char text[64];
    (void)snprintf(text, sizeof text, most ? "%g of %lld" : "%g", used, (long long)most);
    put_shown(dict, key, used, text);
    (void)snprintf(text, sizeof text, "%s_max", key);
    if (most)
        gw_dict_put_u64(dict, text, (uint64_t)most);
}

static void put_holder(struct gw_value *dict, const struct gw_account_holder *holder)
{
    const struct gw_account_limits *limits = holder->limits;
    put_use(dict, "jobs", holder->use.queued_jobs, limits->queued_jobs);
    put_use(dict, "running", holder->use.running_jobs, limits->running_jobs);
    put_use(dict, "slots", (double)holder->use.slots, limits->slots);
    put_use(dict, "gpus", (double)holder->use.gpu_thousandths / 1000, limits->gpus);
    if (limits->time_limit_ns)
        gw_dict_put_u64(dict, "time_limit_ns", (uint64_t)limits->time_limit_ns);
}

/* The rows of the tree so far. */
struct rows {
    const struct gw_sched *sched;
    struct gw_value *list;
    double all;       /* usage of all accounts */
    uint32_t indents; /* depth in the tree */
};

static struct gw_value *push_row(struct rows *rows, const char *account, const char *user)
{
    struct gw_value *dict = gw_dict();
    char indented[2 * GW_ACCOUNT_DEPTH_MAX + GW_ACCOUNT_NAME_MAX + 1];
    (void)snprintf(indented, sizeof indented, "%*s%s", 2 * (int)rows->indents, "", account);
    gw_dict_put(dict, "account", gw_str(account));
    gw_dict_put(dict, "tree", gw_str(indented));
    gw_dict_put(dict, "user", gw_str(user));
    GW_MUST(gw_list_push(rows->list, dict));
    return dict;
}

static void put_usage(const struct rows *rows, struct gw_value *dict, double usage)
{
    gw_dict_put(dict, "usage_seconds", gw_f64(usage));
    gw_dict_put_u64(dict, "usage_ns", (uint64_t)(usage * 1e9));
    put_percent(dict, "used", rows->all > 0 ? usage / rows->all : 0);
}

/* Appends the users and accounts below an account, whose own share of the cluster is `share`. */
static void push_below(struct rows *rows, const struct gw_account *account, double share)
{
    double shares = (double)account->payers.count;
    for (size_t i = 0; i < account->children.count; i++)
        shares += (double)account->children.items[i]->config->shares;
    for (size_t i = 0; i < account->payers.count; i++) {
        const struct gw_payer *payer = account->payers.items[i];
        struct gw_value *dict = push_row(rows, account->holder.name, payer->user);
        gw_dict_put_u64(dict, "shares", 1);
        put_percent(dict, "share", share / shares);
        put_usage(rows, dict, gw_account_usage(rows->sched, payer));
        gw_dict_put_u64(dict, "rank", payer->rank + 1);
    }
    for (size_t i = 0; i < account->children.count; i++) {
        const struct gw_account *child = account->children.items[i];
        struct gw_value *dict = push_row(rows, child->holder.name, "");
        const double part = share * (double)child->config->shares / shares;
        gw_dict_put_u64(dict, "shares", (uint64_t)child->config->shares);
        put_percent(dict, "share", part);
        put_usage(rows, dict, usage_of(rows->sched, child));
        put_holder(dict, &child->holder);
        rows->indents++;
        push_below(rows, child, part);
        rows->indents--;
    }
}

struct gw_value *gw_account_rows(const struct gw_sched *sched)
{
    struct rows rows = {.sched = sched, .list = gw_list()};
    GW_MUST_PTR(rows.list);
    if (sched->accounts) {
        const struct gw_account *root = gw_account_root(sched->accounts);
        rows.all = usage_of(sched, root);
        push_below(&rows, root, 1);
    }
    return rows.list;
}

struct gw_value *gw_account_rows_queues(const struct gw_sched *sched)
{
    const struct gw_accounts *accounts = sched->accounts;
    struct gw_value *list = gw_list();
    GW_MUST_PTR(list);
    for (uint32_t i = 0; accounts && i < accounts->policy.queue_count; i++) {
        const struct gw_queue_config *config = &accounts->policy.queues[i];
        struct gw_value *dict = gw_dict();
        char names[400] = "all";
        for (uint32_t k = 0, at = 0; k < config->account_count && at < sizeof names; k++)
            at += (uint32_t)snprintf(names + at, sizeof names - at, "%s%s", k ? "," : "",
                                     config->accounts[k]);
        gw_dict_put(dict, "name", gw_str(config->name));
        gw_dict_put(dict, "priority", gw_i64(config->priority));
        put_holder(dict, &accounts->queues[i].holder);
        if (config->default_time_limit_ns)
            gw_dict_put_u64(dict, "default_time_limit_ns", (uint64_t)config->default_time_limit_ns);
        gw_dict_put(dict, "accounts", gw_str(names));
        gw_dict_put(dict, "workers", gw_str(*config->workers ? config->workers : "all"));
        gw_dict_put(dict, "requeue", gw_bool(config->requeue));
        GW_MUST(gw_list_push(list, dict));
    }
    return list;
}

/* -- Explanations ----------------------------------------------------------------------------- */

static uint32_t before_in(const struct gw_queue_group *group, const struct gw_queue *queue)
{
    uint32_t before = 0;
    for (size_t i = 0; i < group->heap.count; i++) {
        const struct gw_queue *other = group->heap.items[i];
        before +=
            other->ready.count && other->job != queue->job && gw_sched_queue_before(other, queue);
    }
    return before;
}

/* Counts the ready queues of other jobs that come before this one. */
static uint32_t queues_before(const struct gw_sched *sched, const struct gw_queue *queue)
{
    uint32_t before = 0;
    for (size_t i = 0; i < sched->shapes.count; i++) {
        const struct gw_resource_class *shape = sched->shapes.items[i];
        for (size_t k = 0; shape && k < shape->groups.count; k++)
            before += before_in(shape->groups.items[k], queue);
    }
    return before;
}

void gw_account_rows_explain(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                             struct gw_text *text)
{
    const struct gw_queue *queue = job->specs.items[job->tasks.spec[row]].queue;
    if (!job->payer || !queue)
        return;
    const struct gw_account *account = job->payer->account;
    const double all = usage_of(sched, gw_account_root(sched->accounts));
    const double own = usage_of(sched, account), user = gw_account_usage(sched, job->payer);
    gw_text_say(text, "; account %s", *account->holder.name ? account->holder.name : "(none)");
    if (job->submit_queue)
        gw_text_say(text, ", queue %s", job->submit_queue->holder.name);
    gw_text_say(text, ": the account has used %.1f%% and user %s %.1f%% of all recent use",
                all > 0 ? 100 * own / all : 0, job->payer->user, all > 0 ? 100 * user / all : 0);
    const uint32_t before = queues_before(sched, queue);
    gw_text_say(text, "; it is number %u in line (`gangway account list` shows the order of users)",
                before + 1);
}

bool gw_account_rows_explain_quota(const struct gw_sched *sched, const struct gw_job *job,
                                   uint32_t row, struct gw_text *text)
{
    const struct gw_queue *queue = job->specs.items[job->tasks.spec[row]].queue;
    const struct gw_account_holder *holder = NULL;
    if (!job->payer || !queue || gw_account_quota(queue, &holder) != GW_QUOTA_EXCEEDED)
        return false;
    const bool is_queue = job->submit_queue && holder == &job->submit_queue->holder;
    const struct gw_account_limits *limits = holder->limits;
    gw_text_say(text, "%s %s is at its limit:", is_queue ? "queue" : "account", holder->name);
    if (limits->running_jobs)
        gw_text_say(text, " %u of %lld running jobs,", holder->use.running_jobs,
                    (long long)limits->running_jobs);
    if (limits->slots)
        gw_text_say(text, " %llu of %lld slots,", (unsigned long long)holder->use.slots,
                    (long long)limits->slots);
    if (limits->gpus)
        gw_text_say(text, " %g of %lld GPUs,", (double)holder->use.gpu_thousandths / 1000,
                    (long long)limits->gpus);
    gw_text_say(text, " and this task would exceed it: it starts when other tasks of this %s end",
                is_queue ? "queue" : "account");
    gw_account_rows_explain(sched, job, row, text);
    return true;
}
