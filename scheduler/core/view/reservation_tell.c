/* Explains what the reservation of a gang means for a waiting task. */
#include "graph/base/text.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/reservation.h"
#include "scheduler/core/view/quote.h"

enum { WORKERS_SAID = 4, HELD_SAID = 3 };

/* Counts the waiting gangs that come before the first gang of a queue. */
static uint32_t gangs_before(const struct gw_sched *sched, const struct gw_queue *queue)
{
    uint32_t before = 0;
    for (const struct gw_queue *other = sched->ageing; other; other = other->age_next)
        if (other != queue && gw_sched_queue_before(other, queue))
            before += other->ready.count;
    return before;
}

static void say_in(uint64_t ns, struct gw_text *text)
{
    char duration[GW_TEXT_DURATION_ROOM];
    gw_text_say(text, "%s", gw_text_duration(ns, duration));
}

/* If the start of the gang itself is not known, start_tell.c says more. */
static void say_start(const struct gw_sched *sched, uint32_t number, const char *who,
                      struct gw_text *text)
{
    uint64_t attempt = 0, job = 0;
    uint64_t start_ns = gw_sched_reservation_start(sched, number, &attempt);
    uint32_t slot = attempt ? gw_sched_attempt_find(sched, attempt) : GW_NO_INDEX;
    if (slot != GW_NO_INDEX)
        job = sched->attempts.items[slot].job->id;
    if (start_ns == UINT64_MAX && *who == 'i')
        return;
    if (start_ns == UINT64_MAX) {
        gw_text_say(text, "; no estimate of when %s starts: ", who);
        if (job)
            gw_text_say(text, "job %llu has no time limit (--time-limit)", (unsigned long long)job);
        else
            gw_text_say(text, "a worker is short of memory");
        return;
    }
    gw_text_say(text, "; %s starts in about ", who);
    say_in(start_ns > sched->now_ns ? start_ns - sched->now_ns : 0, text);
    if (job)
        gw_text_say(text, " at the latest, when job %llu reaches its time limit",
                    (unsigned long long)job);
}

static void tell_holder(const struct gw_sched *sched, uint32_t number, struct gw_text *text)
{
    const struct gw_reservation *reservation = &sched->reservations[number];
    const struct gw_job *job = gw_sched_job_find(sched, reservation->job);
    const struct gw_resource_class *shape =
        job->specs.items[job->tasks.spec[reservation->index]].shape;
    uint64_t free_ranks = 0;
    gw_text_say(text,
                number != GW_RESERVATION_OF_GANG
                    ? "; slots are reserved for it:"
                    : "; it is the first waiting gang, and slots are reserved for its ranks:");
    for (size_t i = 0; i < reservation->reserved_ranks.count; i++) {
        const struct gw_reserved_rank *reserved = &reservation->reserved_ranks.items[i];
        uint64_t now = gw_sched_gang_size_ranks_at(sched, reserved->worker, shape, false);
        free_ranks += now < reserved->ranks ? now : reserved->ranks;
        char where[GW_WORKER_NAME_MAX];
        if (i < WORKERS_SAID)
            gw_text_say(text, "%s %u at %s", i ? "," : "", reserved->ranks,
                        gw_sched_worker_where(sched, reserved->worker->id, where));
    }
    if (reservation->reserved_ranks.count > WORKERS_SAID)
        gw_text_say(text, " and at %zu more", reservation->reserved_ranks.count - WORKERS_SAID);
    gw_text_say(text, "; they are free for %llu of %u ranks now", (unsigned long long)free_ranks,
                shape->ranks ? shape->ranks : 1);
    say_start(sched, number, "it", text);
}

/* Says which time limit would let the task run before the reserved gang starts: the time limit plus
 * the grace period must end before that start. */
static void say_end(const struct gw_msg_spec *spec, struct gw_text *text)
{
    const uint64_t grace_ns = spec->grace_ns ? spec->grace_ns : GW_GRACE_NS;
    if (spec->time_limit_ns == 0) {
        gw_text_say(text, "; with a time limit (--time-limit) that ends before the gang starts, it "
                          "could run there");
        return;
    }
    gw_text_say(text, "; it could run there if it were sure to end before that, but it may take ");
    say_in(spec->time_limit_ns, text);
    gw_text_say(text, " (--time-limit) and ");
    say_in(grace_ns, text);
    gw_text_say(text, " more (--grace)");
}

/* Says for which gang the slots that become free are reserved. */
static void tell_gang(const struct gw_sched *sched, const struct gw_msg_spec *spec,
                      struct gw_text *text)
{
    const struct gw_reservation *reservation = &sched->reservations[GW_RESERVATION_OF_GANG];
    const struct gw_job *holder = gw_sched_job_find(sched, reservation->job);
    uint32_t ranks = 0;
    for (size_t i = 0; i < reservation->reserved_ranks.count; i++)
        ranks += reservation->reserved_ranks.items[i].ranks;
    uint32_t all = holder->specs.items[holder->tasks.spec[reservation->index]].shape->ranks;
    gw_text_say(text, "; slots that become free are reserved for job %llu (",
                (unsigned long long)holder->id);
    gw_explain_quote(text, holder->name);
    gw_text_say(text, "), a waiting gang of %u ranks", all);
    if (ranks < all)
        gw_text_say(text, " (there is room for %u)", ranks);
    say_end(spec, text);
    say_start(sched, GW_RESERVATION_OF_GANG, "that gang", text);
}

/* Says for which jobs the room of preempted work is held. */
static void tell_held(const struct gw_sched *sched, struct gw_text *text)
{
    uint32_t said = 0;
    GW_EACH_RESERVATION (number, sched->reserved & GW_RESERVATIONS_HELD) {
        const struct gw_job *holder = gw_sched_job_find(sched, sched->reservations[number].job);
        if (said++ == HELD_SAID)
            break;
        gw_text_say(text, "%s job %llu (",
                    said > 1 ? "," : "; slots that become free are reserved for",
                    (unsigned long long)holder->id);
        gw_explain_quote(text, holder->name);
        gw_text_say(text, ")");
    }
    if (said > HELD_SAID)
        gw_text_say(text, " and others");
    if (said)
        gw_text_say(text, ", for which other work is preempted");
}

void gw_sched_reservation_tell(const struct gw_sched *sched, const struct gw_job *job,
                               uint32_t index, char *to, size_t bytes)
{
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[index]];
    struct gw_text text = {to, bytes, 0};
    *to = '\0';
    GW_EACH_RESERVATION (number, sched->reserved)
        if (sched->reservations[number].job == job->id &&
            sched->reservations[number].index == index) {
            tell_holder(sched, number, &text);
            return;
        }
    if (spec->shape->ranks > 0 && spec->queue) {
        uint32_t before = gangs_before(sched, spec->queue);
        if (before)
            gw_text_say(&text, "; %u gang%s before it in the queue", before,
                        before == 1 ? " is" : "s are");
        else if (!sched->reserved)
            gw_text_say(
                &text,
                gw_sched_ranks_hold_least(sched, spec->shape)
                    ? "; it is the first waiting gang, but tasks that are before it in the queue "
                      "wait for slots, too: no slots are reserved for it before these tasks run"
                    : "; no slots are reserved for it, because the connected workers could not run "
                      "its ranks even if they were empty");
    }
    if (job->depth > 0)
        return;
    tell_held(sched, &text);
    if (sched->reservations[GW_RESERVATION_OF_GANG].job)
        tell_gang(sched, &spec->message, &text);
}
