/* Changes of state of the preemption. */
#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/account.h"
#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/gang.h"
#include "scheduler/core/model/jobs/job.h"

#include <assert.h>
#include <stdio.h>

const char *gw_sched_preemption_by(const struct gw_job *job, char text[GW_PREEMPTED_BY_BYTES])
{
    const char *account = job->payer ? job->payer->account->holder.name : "";
    (void)snprintf(text, GW_PREEMPTED_BY_BYTES, "job %llu%s%s", (unsigned long long)job->id,
                   *account ? " of account " : "", account);
    return text;
}

bool gw_sched_preemption_text(const struct gw_sched *sched, const struct gw_job *job,
                              uint32_t index, char *text, uint32_t bytes)
{
    const struct gw_logged *fact = gw_sched_event_log_last(sched, job, index, GW_LOGGED_PREEMPTED);
    if (!fact || fact->detail || fact->try_number != job->tasks.charges[index].tries)
        return false;
    (void)snprintf(text, bytes, "it was preempted by %s", fact->text);
    return true;
}

bool gw_sched_preemption_lives(const struct gw_sched *sched, const struct gw_preempted *victim)
{
    return victim->gang ? gw_sched_gang_find(sched, victim->attempt) != NULL
                        : gw_sched_attempt_find(sched, victim->attempt) != GW_NO_INDEX;
}

uint32_t gw_sched_preemption_of(const struct gw_sched *sched, const struct gw_job *job)
{
    GW_EACH_RESERVATION (number, sched->preemptions.running)
        if (sched->preemptions.items[number].job == job->id)
            return number;
    return 0;
}

/* Records what the task of a preemption will use. */
static void claim(struct gw_sched *sched, uint32_t number, const struct gw_job *job)
{
    const uint32_t index = sched->preemptions.items[number].index;
    struct gw_account_part part = {
        job, gw_account_quota_need(job->specs.items[job->tasks.spec[index]].shape)};
    part.use.running_jobs = job->billed == 0;
    gw_account_quota_claim(sched->accounts, number, &part);
}

void gw_sched_preemptions_claim(struct gw_sched *sched)
{
    GW_EACH_RESERVATION (number, sched->preemptions.running & sched->reserved) {
        const struct gw_job *job = gw_sched_job_find(sched, sched->preemptions.items[number].job);
        if (job && !job->compacted)
            claim(sched, number, job);
    }
}

void gw_sched_preemption_begin(struct gw_sched *sched, uint32_t number,
                               const struct gw_queue *queue)
{
    struct gw_preemption *preemption = &sched->preemptions.items[number];
    preemption->job = queue->job->id;
    preemption->index = gw_bits_first(&queue->ready);
    gw_array_clear(&preemption->victims);
    sched->preemptions.running |= 1U << number;
    claim(sched, number, queue->job);
}

static void mark_one(struct gw_sched *sched, uint32_t slot, uint32_t from, uint32_t to)
{
    if (slot != GW_NO_INDEX && sched->attempts.items[slot].preempted == from)
        gw_account_preempt(sched->accounts, &sched->attempts.items[slot], to);
}

/* Gives another number to all attempts of a task, or of its gang, that have not ended. */
static void mark(struct gw_sched *sched, const struct gw_preempted *victim, uint32_t from,
                 uint32_t to)
{
    const struct gw_gang_attempt *gang = gw_sched_gang_find(sched, victim->attempt);
    if (!gang)
        mark_one(sched, gw_sched_attempt_find(sched, victim->attempt), from, to);
    for (uint32_t i = 0; gang && i < gang->count; i++)
        mark_one(sched, gang->ranks[i].slot, from, to);
}

static void log_preempted(struct gw_sched *sched, uint32_t number, struct gw_job *job,
                          uint32_t index, bool spared)
{
    const struct gw_job *by = gw_sched_job_find(sched, sched->preemptions.items[number].job);
    char text[GW_PREEMPTED_BY_BYTES] = "another job";
    if (by)
        (void)gw_sched_preemption_by(by, text);
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_PREEMPTED, .index = index, .detail = spared,
                 .try_number = job->tasks.charges[index].tries, .text = text);
}

void gw_sched_preemption_add(struct gw_sched *sched, uint32_t number, uint32_t slot,
                             uint64_t until_ns)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    const struct gw_preempted victim = {.job = attempt->job->id,
                                        .attempt = attempt->gang ? attempt->gang->id : attempt->id,
                                        .index = attempt->index,
                                        .gang = attempt->gang != NULL,
                                        .until_ns = until_ns};
    mark(sched, &victim, 0, number);
    log_preempted(sched, number, attempt->job, attempt->index, false);
    GW_MUST(gw_array_push(&sched->preemptions.items[number].victims, victim));
}

void gw_sched_preemption_kill(struct gw_sched *sched, uint32_t number, uint32_t at)
{
    sched->preemptions.items[number].victims.items[at].until_ns = UINT64_MAX;
}

void gw_sched_preemption_spare(struct gw_sched *sched, uint32_t number,
                               const struct gw_gang_attempt *gang)
{
    mark(sched, &(struct gw_preempted){.attempt = gang->id}, number, 0);
    log_preempted(sched, number, gang->job, gang->index, true);
}

void gw_sched_preemption_over(struct gw_sched *sched, uint32_t number)
{
    struct gw_preemption *preemption = &sched->preemptions.items[number];
    for (uint32_t i = 0; i < preemption->victims.count; i++)
        mark(sched, &preemption->victims.items[i], number, GW_PREEMPTED_STILL);
    preemption->job = 0;
    sched->preemptions.running &= ~(1U << number);
    gw_array_clear(&preemption->victims);
    if (sched->accounts)
        gw_account_quota_claim(sched->accounts, number, &(struct gw_account_part){0});
}

void gw_sched_preemption_failed(struct gw_sched *sched, uint32_t number)
{
    const struct gw_preemption *preemption = &sched->preemptions.items[number];
    const struct gw_preempted_in_vain entry = {
        preemption->job, sched->now_ns + GW_PREEMPT_FAILED_NS, preemption->index};
    GW_MUST(gw_array_push(&sched->preemptions.in_vain, entry));
    gw_sched_reservation_clear(sched, number);
}

void gw_sched_preemption_looked(struct gw_sched *sched, uint64_t next_ns, bool waits)
{
    struct gw_preemptions *preemptions = &sched->preemptions;
    preemptions->look_ns = next_ns;
    preemptions->waits = waits;
    for (size_t i = preemptions->in_vain.count; i-- > 0;)
        if (preemptions->in_vain.items[i].until_ns <= sched->now_ns)
            gw_array_remove_swap(&preemptions->in_vain, i);
}

/* An attempt that is preempted is a victim of that preemption. */
static void check_attempt(const struct gw_sched *sched, const struct gw_attempt *attempt)
{
    const uint32_t number = attempt->preempted;
    bool known = number == 0 || number == GW_PREEMPTED_STILL;
    for (size_t i = 0; !known && i < sched->preemptions.items[number].victims.count; i++)
        known = sched->preemptions.items[number].victims.items[i].attempt ==
                (attempt->gang ? attempt->gang->id : attempt->id);
    assert(known);
}

void gw_sched_preemption_check(const struct gw_sched *sched)
{
    const struct gw_preemptions *preemptions = &sched->preemptions;
    assert((preemptions->running & ~GW_RESERVATIONS_HELD) == 0);
    assert((sched->reserved & GW_RESERVATIONS_HELD & ~preemptions->running) == 0);
    GW_EACH_RESERVATION (number, GW_RESERVATIONS_HELD) {
        const struct gw_preemption *preemption = &preemptions->items[number];
        const struct gw_reservation *reservation = &sched->reservations[number];
        const bool runs = preemptions->running >> number & 1;
        assert(runs == (preemption->job != 0) && runs == (preemption->victims.count > 0));
        assert(!reservation->job ||
               (reservation->job == preemption->job && reservation->index == preemption->index));
        for (uint32_t other = 1; runs && other < number; other++)
            assert(preemptions->items[other].job != preemption->job);
    }
    for (size_t i = 0; i < sched->attempts.count; i++)
        if (sched->attempts.items[i].state != GW_ATTEMPT_FREE)
            check_attempt(sched, &sched->attempts.items[i]);
}
