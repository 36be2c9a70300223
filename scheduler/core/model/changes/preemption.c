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

void gw_sched_preemption_begin(struct gw_sched *sched, const struct gw_queue *queue)
{
    struct gw_preemption *preemption = &sched->accounts->preemption;
    preemption->job = queue->job->id;
    preemption->index = gw_bits_first(&queue->ready);
    gw_array_clear(&preemption->victims);
    gw_account_quota_claim(sched->accounts,
                           &(struct gw_account_part){queue->job, gw_account_quota_need(queue)});
}

/* Marks all attempts of a gang that have not ended. */
static void mark(struct gw_sched *sched, const struct gw_gang_attempt *gang, bool preempted)
{
    for (uint32_t i = 0; i < gang->count; i++)
        if (gang->ranks[i].slot != GW_NO_INDEX)
            gw_account_preempt(sched->accounts, &sched->attempts.items[gang->ranks[i].slot],
                               preempted);
}

static void log_preempted(struct gw_sched *sched, struct gw_job *job, uint32_t index, bool spared)
{
    const struct gw_job *by = gw_sched_job_find(sched, sched->accounts->preemption.job);
    char text[GW_PREEMPTED_BY_BYTES] = "another job";
    if (by)
        (void)gw_sched_preemption_by(by, text);
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_PREEMPTED, .index = index, .detail = spared,
                 .try_number = job->tasks.charges[index].tries, .text = text);
}

void gw_sched_preemption_add(struct gw_sched *sched, uint32_t slot, uint64_t until_ns)
{
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    const struct gw_preempted victim = {.job = attempt->job->id,
                                        .attempt = attempt->gang ? attempt->gang->id : attempt->id,
                                        .index = attempt->index,
                                        .gang = attempt->gang != NULL,
                                        .until_ns = until_ns};
    if (attempt->gang)
        mark(sched, attempt->gang, true);
    else
        gw_account_preempt(sched->accounts, attempt, true);
    log_preempted(sched, attempt->job, attempt->index, false);
    GW_MUST(gw_array_push(&sched->accounts->preemption.victims, victim));
}

void gw_sched_preemption_kill(struct gw_sched *sched, uint32_t at)
{
    sched->accounts->preemption.victims.items[at].until_ns = UINT64_MAX;
}

void gw_sched_preemption_spare(struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    mark(sched, gang, false);
    log_preempted(sched, gang->job, gang->index, true);
}

void gw_sched_preemption_over(struct gw_sched *sched)
{
    sched->accounts->preemption.job = 0;
    gw_array_clear(&sched->accounts->preemption.victims);
    gw_account_quota_claim(sched->accounts, &(struct gw_account_part){0});
}

void gw_sched_preemption_looked(struct gw_sched *sched, uint64_t next_ns, bool waits)
{
    sched->accounts->preemption.look_ns = next_ns;
    sched->accounts->preemption.waits = waits;
}

void gw_sched_preemption_check(const struct gw_sched *sched)
{
    const struct gw_preemption *preemption = sched->accounts ? &sched->accounts->preemption : NULL;
    if (!preemption || !preemption->job) {
        assert(!sched->reservation.held);
        return;
    }
    assert(preemption->victims.count > 0);
    assert(!sched->reservation.held || (sched->reservation.job == preemption->job &&
                                        sched->reservation.index == preemption->index));
}
