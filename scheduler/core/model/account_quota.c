/* Quotas: whether a task is within them now, or would be if other tasks ended. */
#include "scheduler/core/model/account.h"

static void use_less(struct gw_account_use *use, const struct gw_account_use *by)
{
    use->running_jobs -= by->running_jobs;
    use->slots -= by->slots;
    use->gpu_thousandths -= by->gpu_thousandths;
}

/* Returns the use that counts beside a preemption. Work that is preempted, and the work that starts
 * instead, are counted once. A strict account is never exceeded, not even until the preempted work
 * has ended. */
static uint64_t counted(uint64_t use, uint64_t claimed, uint64_t leaving, bool strict)
{
    return use - leaving + (strict && leaving > claimed ? leaving : claimed);
}

/* Returns the use that counts for another task of a job. If work is preempted for this job, it
 * counts until it has ended. */
static struct gw_account_use use_for(const struct gw_job *job,
                                     const struct gw_account_holder *holder, bool settled)
{
    struct gw_account_use use = holder->use;
    const bool strict = holder->strict && !settled;
    GW_EACH_RESERVATION (number, holder->claiming) {
        const struct gw_account_claim *claim = &holder->claims[number];
        if (claim->job == job->id)
            continue;
        use.slots = counted(use.slots, claim->use.slots, claim->leaving.slots, strict);
        use.gpu_thousandths = counted(use.gpu_thousandths, claim->use.gpu_thousandths,
                                      claim->leaving.gpu_thousandths, strict);
        use.running_jobs += claim->use.running_jobs;
    }
    return use;
}

static struct gw_account_use use_without(const struct gw_job *job,
                                         const struct gw_account_holder *holder,
                                         struct gw_account_parts ended)
{
    struct gw_account_use use = use_for(job, holder, ended.settled);
    for (uint32_t i = 0; i < ended.count; i++)
        if (gw_account_holds(ended.items[i].job, holder))
            use_less(&use, &ended.items[i].use);
    return use;
}

static enum gw_quota quota_of(const struct gw_job *job, const struct gw_account_holder *holder,
                              const struct gw_account_use *use, const struct gw_account_use *need)
{
    const struct gw_account_limits *limits = holder->limits;
    if (!limits)
        return GW_QUOTA_WITHIN;
    if (limits->running_jobs && job->billed == 0 &&
        use->running_jobs >= (uint64_t)limits->running_jobs)
        return GW_QUOTA_EXCEEDED;
    const bool over =
        (limits->slots && need->slots && use->slots + need->slots > (uint64_t)limits->slots) ||
        (limits->gpus && need->gpu_thousandths &&
         use->gpu_thousandths + need->gpu_thousandths > (uint64_t)limits->gpus * 1000);
    return !over ? GW_QUOTA_WITHIN : holder->strict ? GW_QUOTA_EXCEEDED : GW_QUOTA_BORROWS;
}

uint32_t gw_account_quota_kind(const struct gw_job *job)
{
    uint32_t kind = job->depth > 0;
    if (gw_account_limited(job)) {
        kind |= job->billed > 0 ? 2 : 0;
        const struct gw_account_holder *holder = gw_account_holder_first(job);
        GW_EACH_RESERVATION (number, holder->claiming)
            kind |= holder->claims[number].job == job->id ? number << 2 : 0;
    }
    return kind;
}

struct gw_account_use gw_account_quota_need(const struct gw_resource_class *shape)
{
    const uint64_t ranks = shape->ranks ? shape->ranks : 1;
    const uint64_t gpus = shape->gpu_if_any ? shape->any_gpus : shape->gpus;
    return (struct gw_account_use){
        .slots = ranks * shape->slots,
        .gpu_thousandths =
            ranks * (shape->gpu_fraction && gpus ? shape->gpu_fraction : gpus * 1000)};
}

/* A job of a running task has what its parent yielded: if it waited for a quota, both would wait
 * forever. */
enum gw_quota gw_account_quota_without(const struct gw_queue *queue, struct gw_account_parts ended,
                                       const struct gw_account_holder **by)
{
    const struct gw_job *job = queue->job;
    enum gw_quota quota = GW_QUOTA_WITHIN;
    if (!gw_account_limited(job) || job->depth > 0)
        return quota;
    const struct gw_account_use need = gw_account_quota_need(queue->shape);
    GW_EACH_ACCOUNT_HOLDER(job, holder)
    {
        const struct gw_account_use use = use_without(job, holder, ended);
        const enum gw_quota of = quota_of(job, holder, &use, &need);
        if (of > quota && by)
            *by = holder;
        quota = of > quota ? of : quota;
    }
    return quota;
}

enum gw_quota gw_account_quota(const struct gw_queue *queue, const struct gw_account_holder **by)
{
    return gw_account_quota_without(queue, (struct gw_account_parts){0}, by);
}

bool gw_account_quota_borrows(const struct gw_account_part *part, const struct gw_job *other,
                              struct gw_account_parts ended)
{
    GW_EACH_ACCOUNT_HOLDER(part->job, holder)
    {
        const struct gw_account_limits *limits = holder->limits;
        if (!limits || gw_account_holds(other, holder))
            continue;
        const struct gw_account_use use = use_without(part->job, holder, ended);
        if ((limits->slots && part->use.slots && use.slots > (uint64_t)limits->slots) ||
            (limits->gpus && part->use.gpu_thousandths &&
             use.gpu_thousandths > (uint64_t)limits->gpus * 1000))
            return true;
    }
    return false;
}

static void forget_claim(struct gw_accounts *accounts, uint32_t number,
                         struct gw_account_holder *holder)
{
    struct gw_account_claim *claim = &holder->claims[number];
    if (claim->job)
        GW_MUST(gw_array_push(&accounts->moved, claim->job));
    claim->use = (struct gw_account_use){0};
    claim->job = 0;
    gw_account_note_claim(holder, number);
}

void gw_account_quota_claim(struct gw_accounts *accounts, uint32_t number,
                            const struct gw_account_part *claim)
{
    for (uint32_t i = 0; i <= accounts->policy.account_count; i++)
        forget_claim(accounts, number, &accounts->items[i].holder);
    for (uint32_t i = 0; i < accounts->policy.queue_count; i++)
        forget_claim(accounts, number, &accounts->queues[i].holder);
    accounts->uses_changed = true;
    if (!claim->job || !claim->job->payer)
        return;
    GW_MUST(gw_array_push(&accounts->moved, claim->job->id));
    GW_EACH_ACCOUNT_HOLDER(claim->job, holder)
    {
        holder->claims[number].use = claim->use;
        holder->claims[number].job = claim->job->id;
        gw_account_note_claim(holder, number);
    }
}
