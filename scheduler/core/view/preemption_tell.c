/* Explains preemptions: to the work that ends, and to the work that waits for it. */
#include "scheduler/core/model/account.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/view/explain.h"
#include "scheduler/core/view/quote.h"

enum { VICTIMS_SAID = 3 };

/* Says by whom the last attempt was preempted, if it was. */
static void tell_past(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                      struct gw_text *text)
{
    char why[GW_ERROR_TEXT_MAX], ago[GW_TEXT_DURATION_ROOM];
    if (!job->payer || job->tasks.charges[row].tries == 0 ||
        !gw_sched_preemption_text(sched, job, row, why, sizeof why))
        return;
    const struct gw_logged *fact = gw_sched_event_log_last(sched, job, row, GW_LOGGED_PREEMPTED);
    gw_text_say(text,
                "%s %s ago, keeps its place in the line, and resumes when it has room again: ", why,
                gw_text_duration(sched->now_ns - fact->at_ns, ago));
}

void gw_sched_preemption_tell_victim(const struct gw_sched *sched, const struct gw_job *job,
                                     uint32_t row, struct gw_text *text)
{
    char by[GW_PREEMPTED_BY_BYTES], left[GW_TEXT_DURATION_ROOM];
    GW_EACH_RESERVATION (number, sched->preemptions.running)
        for (uint32_t i = 0; i < sched->preemptions.items[number].victims.count; i++) {
            const struct gw_preemption *preemption = &sched->preemptions.items[number];
            const struct gw_preempted *victim = &preemption->victims.items[i];
            const struct gw_job *other = gw_sched_job_find(sched, preemption->job);
            if (victim->job != job->id || victim->index != row || !other ||
                !gw_sched_preemption_lives(sched, victim))
                continue;
            gw_text_say(text, "; it is preempted by %s: it was told to save and to end",
                        gw_sched_preemption_by(other, by));
            if (victim->until_ns != UINT64_MAX)
                gw_text_say(text, " within %s",
                            gw_text_duration(victim->until_ns > sched->now_ns
                                                 ? victim->until_ns - sched->now_ns
                                                 : 0,
                                             left));
            gw_text_say(text, ", and continues later");
        }
}

/* Says which jobs must save and end first, so that this task can start. */
static void tell_waiting(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                         struct gw_text *text)
{
    const uint32_t number = gw_sched_preemption_of(sched, job);
    const struct gw_preemption *preemption = &sched->preemptions.items[number];
    uint32_t said = 0, live = 0;
    if (!number || preemption->index != row)
        return;
    for (uint32_t i = 0; i < preemption->victims.count; i++) {
        const struct gw_preempted *victim = &preemption->victims.items[i];
        const struct gw_job *other = gw_sched_job_find(sched, victim->job);
        if (!other || !gw_sched_preemption_lives(sched, victim) || live++ >= VICTIMS_SAID)
            continue;
        char by[GW_PREEMPTED_BY_BYTES];
        gw_text_say(text, "%s %s (",
                    said++ ? ","
                           : "; it waits until these, which it preempts, "
                             "have saved and ended:",
                    gw_sched_preemption_by(other, by));
        gw_explain_quote(text, other->name);
        gw_text_say(text, ")");
    }
    if (live > VICTIMS_SAID)
        gw_text_say(text, " and %u more", live - VICTIMS_SAID);
    if (live)
        gw_text_say(text, "; ");
}

void gw_sched_preemption_tell_ready(const struct gw_sched *sched, const struct gw_job *job,
                                    uint32_t row, struct gw_text *text)
{
    tell_past(sched, job, row, text);
    tell_waiting(sched, job, row, text);
}
