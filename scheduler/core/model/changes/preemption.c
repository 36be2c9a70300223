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
    GW_EACH_RESERVATION(number, sched->preemptions.running)
    if (sched->preemptions.items[number].job == job->id)
        return number;
    return 0;
}

void gw_sched_preemption_begin(struct gw_sched *sched, uint32_t number,
                               const struct gw_queue *queue)
{
    struct gw_preemption *preemption = &sched->preemptions.items[number];
    preemption->job = queue->job->id;
    preemption->index = gw_bits_first(&queue->ready);
    gw_array_clear(&preemption->victims);
    sched->preemptions.running |= 1U << number;
    gw_account_quota_claim(sched->accounts,
                           &(struct gw_account_part){queue->job, gw_account_quota_need(queue)});
}

/* Marks all attempts of a task, or of its gang, that have not ended. */
static void mark(struct gw_sched *sched, const struct gw_preempted *victim, uint32_t number)
{
    const struct gw_gang_attempt *gang = gw_sched_gang_find(sched, victim->attempt);
    const uint32_t slot = gang ? GW_NO_INDEX : gw_sched_attempt_find(sched, victim->attempt);
    if (slot != GW_NO_INDEX)
        gw_account_preempt(sched->accounts, &sched->attempts.items[slot], number);
    for (uint32_t i = 0; gang && i < gang->count; i++)
        if (gang->ranks[i].slot != GW_NO_INDEX)
            gw_account_preempt(sched->accounts, &sched->attempts.items[gang->ranks[i].slot],
                               number);
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
    mark(sched, &victim, number);
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
    mark(sched, &(struct gw_preempted){.attempt = gang->id}, 0);
    log_preempted(sched, number, gang->job, gang->index, true);
}

void gw_sched_preemption_over(struct gw_sched *sched, uint32_t number)
{
    struct gw_preemption *preemption = &sched->preemptions.items[number];
    preemption->job = 0;
    sched->preemptions.running &= ~(1U << number);
    gw_array_clear(&preemption->victims);
    if (sched->accounts)
        gw_account_quota_claim(sched->accounts, &(struct gw_account_part){0});
}

void gw_sched_preemption_looked(struct gw_sched *sched, uint64_t next_ns, bool waits)
{
    sched->preemptions.look_ns = next_ns;
    sched->preemptions.waits = waits;
}

void gw_sched_preemption_check(const struct gw_sched *sched)
{
    const struct gw_preemptions *preemptions = &sched->preemptions;
    assert((preemptions->running & ~GW_RESERVATIONS_HELD) == 0);
    assert((sched->reserved & GW_RESERVATIONS_HELD & ~preemptions->running) == 0);
    GW_EACH_RESERVATION(number, GW_RESERVATIONS_HELD)
    {
        const struct gw_preemption *preemption = &preemptions->items[number];
        const struct gw_reservation *reservation = &sched->reservations[number];
        const bool runs = preemptions->running >> number & 1;
        assert(runs == (preemption->job != 0) && runs == (preemption->victims.count > 0));
        assert(!reservation->job ||
               (reservation->job == preemption->job && reservation->index == preemption->index));
    }
}
