/* End of a gang's attempt.
 *
 * The first rank that ends badly, is lost, or does not become ready in time ends the attempt. Its
 * end is recorded as the cause, and all other ranks are killed. Later ends do not change the cause,
 * with one exception (see outranks): an error of one rank is often caused by the death of another
 * rank, and the death may be reported later.
 *
 * The slot of a rank is free when its worker reports the end of the rank. The attempt is over when
 * the last rank has ended. */
#include "scheduler/core/lifecycle/gang_end.h"

#include "scheduler/core/lifecycle/task_end.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/outbox.h"

#include <stdio.h>

enum { KILL_SIGNAL = 9 /* SIGKILL on every Linux architecture */ };

/* The attempt ended badly: release the results that finished ranks left at their workers. */
static void release_results(struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    for (uint32_t i = 0; i < gang->count; i++) {
        const struct gw_rank *rank = &gang->ranks[i];
        struct gw_worker *worker = rank->finished && !rank->result.value
                                       ? gw_sched_worker_find(sched, rank->worker)
                                       : NULL;
        if (worker && worker->state != GW_WORKER_LOST)
            gw_sched_outbox_release(sched, worker,
                                    &(struct gw_release_row){gang->job->id, gang->index, i});
    }
}

/* The ranks at this worker could connect to the other ranks of the gang: forget recorded failures
 * to connect between these workers. */
static void meet_others(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                        const struct gw_worker *worker)
{
    for (uint32_t i = 0; i < gang->count && sched->partings.count; i++) {
        const struct gw_worker *other = gw_sched_worker_find(sched, gang->ranks[i].worker);
        if (other && other->id < worker->id)
            gw_sched_parting_end(sched, worker, other);
    }
}

/* All ranks ended well: lift the quarantine of their workers. */
static void warm_workers(struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    const struct gw_worker *last = NULL;
    for (uint32_t i = 0; i < gang->count; i++) {
        const struct gw_worker *worker = gw_sched_worker_find(sched, gang->ranks[i].worker);
        if (!worker || worker->state != GW_WORKER_READY)
            continue;
        if (worker != last)
            meet_others(sched, gang, worker);
        last = worker;
        gw_sched_quarantine_end(sched, worker, false);
        if (spec->message.files.size)
            gw_sched_quarantine_end(sched, worker, true);
    }
}

/* All ranks ended well: the task gets their results. If a worker was lost together with a result,
 * the attempt counts as lost. If the gang ran with fewer ranks than it asked for, the results of
 * the missing ranks are nil. */
static void gang_has_results(struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    static const uint8_t nil = 0xc0;
    uint32_t all = gang->job->specs.items[gang->job->tasks.spec[gang->index]].message.ranks;
    struct gw_result *results = gw_arena_alloc(&sched->step.effects->arena, all * sizeof *results);
    GW_MUST_PTR(results);
    bool lost = false;
    for (uint32_t i = gang->count; i < all; i++)
        results[i] = (struct gw_result){.value = &nil, .size = sizeof nil, .bytes = sizeof nil};
    for (uint32_t i = 0; i < gang->count; i++) {
        results[i] = gang->ranks[i].result;
        if (results[i].value)
            continue;
        results[i].worker = gw_sched_worker_find(sched, gang->ranks[i].worker);
        lost = lost || !results[i].worker || results[i].worker->state >= GW_WORKER_SHUTTING_DOWN;
    }
    if (lost) {
        struct gw_end end = {.outcome = GW_OUTCOME_LOST,
                             .executing = true,
                             .text =
                                 "the worker of a rank was lost together with the rank's result"};
        release_results(sched, gang);
        gw_sched_task_end(sched, &(struct gw_task_end_cause){gang->job, gang->index, gang->id, "",
                                                             &end, false, false});
        return;
    }
    warm_workers(sched, gang);
    gw_sched_task_end_done(sched, gang->job, gang->index, &(struct gw_results){results, all});
}

/* Returns true if the attempt never started its ranks (under this or an earlier scheduler) and its
 * end was no fault of the gang. */
static bool is_unbegun(const struct gw_gang_attempt *gang)
{
    const struct gw_end *cause = &gang->cause;
    return gang->went_ns == 0 && !cause->executing &&
           gw_sched_gang_went(gang->job, gang->index).attempt != gang->id &&
           (cause->outcome == GW_OUTCOME_LOST_INPUT || cause->outcome == GW_OUTCOME_FILES ||
            cause->outcome == GW_OUTCOME_GPU || cause->outcome == GW_OUTCOME_LOST ||
            cause->outcome == GW_OUTCOME_PREEMPTED);
}

/* A rank could not connect to another rank: write both hosts into the text and record the pair of
 * workers. */
static void part(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                 const struct gw_worker *worker, struct gw_text *text)
{
    const struct gw_end *cause = &gang->cause;
    const struct gw_worker *other = gw_sched_worker_find(sched, gang->ranks[cause->peer].worker);
    char here[GW_WORKER_NAME_MAX], there[GW_WORKER_NAME_MAX];
    gw_text_say(text, "%s could not reach rank %u at %s: %s",
                gw_sched_worker_where(sched, gang->cause_worker, here), cause->peer,
                gw_sched_worker_where(sched, gang->ranks[cause->peer].worker, there),
                cause->text ? cause->text : "");
    if (worker && other && worker != other && worker->state == GW_WORKER_READY &&
        other->state == GW_WORKER_READY)
        gw_sched_parting_begin(sched, worker, other);
}

/* Decides what the recorded cause means for the task. If another process had taken the port on
 * which rank 0 must listen, the outcome becomes GW_OUTCOME_PORT. */
static void judge(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    char where[320] = "", text[GW_ERROR_TEXT_MAX];
    struct gw_end end = gang->cause;
    const struct gw_worker *worker = gw_sched_worker_find(sched, gang->cause_worker);
    if (gang->cause_rank != GW_NO_INDEX)
        (void)snprintf(where, sizeof where, "rank %u on %s", gang->cause_rank,
                       worker ? worker->host : "a lost worker");
    if (gang->early && gang->port_taken &&
        (end.outcome == GW_OUTCOME_FAILED || end.outcome == GW_OUTCOME_CRASHED)) {
        (void)snprintf(
            text, sizeof text,
            "%s; another process, which is not part of the gang, has taken its MASTER_PORT",
            end.text);
        end.outcome = GW_OUTCOME_PORT;
        end.text = text;
    }
    if (end.outcome == GW_OUTCOME_UNREACHED) {
        struct gw_text said = {text, sizeof text, 0};
        part(sched, gang, worker, &said);
        end.text = text;
    }
    char told[GW_ERROR_TEXT_MAX];
    /* If the gang was told to stop, this is the reason of its end, whatever the outcome was. */
    if (gang->stopped) {
        const char *by = gw_sched_gang_asked(gang->job, gang->index).by;
        (void)snprintf(told, sizeof told, "the gang was told to stop%s%s: %s", *by ? " by " : "",
                       by, end.text && *end.text ? end.text : gw_sched_outcome_name(end.outcome));
        end.text = told;
    }
    const bool unbegun = is_unbegun(gang);
    gw_sched_task_end(sched, &(struct gw_task_end_cause){gang->job, gang->index, gang->id, where,
                                                         &end, gang->stopped, unbegun});
    if (unbegun)
        gw_sched_gang_unbegin(gang);
}

void gw_sched_gang_end_over(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    struct gw_job *job = gang->job;
    uint32_t row = gang->index;
    if (gang->token)
        gw_sched_outbox_drop_token(sched, gang->token);
    if (gang->state == GW_GANG_ENDING) {
        release_results(sched, gang);
        judge(sched, gang);
    } else if (gang->paused && !gang->stopped) {
        char text[GW_ERROR_TEXT_MAX] = "the gang was told to pause";
        struct gw_end end = {.outcome = GW_OUTCOME_PREEMPTED,
                             .text =
                                 gang->growing ? "there is room for more ranks of the gang" : text};
        (void)gw_sched_preemption_text(sched, job, row, text, sizeof text);
        release_results(sched, gang);
        gw_sched_task_end(sched,
                          &(struct gw_task_end_cause){job, row, gang->id, "", &end, false, false});
    } else {
        gang_has_results(sched, gang);
    }
    gw_sched_gang_move(sched, gang, GW_GANG_ENDED);
}

void gw_sched_gang_end_give_up(struct gw_sched *sched, struct gw_gang_attempt *gang,
                               const char *why)
{
    const struct gw_end end = {.outcome = GW_OUTCOME_LOST, .code = GW_ELOST, .text = why};
    gw_sched_gang_end_kill(sched, gang,
                           &(struct gw_gang_kill){GW_FAIL_GRACE_NS, GW_KILL_STALE, &end});
}

static void kill_ranks(struct gw_sched *sched, struct gw_gang_attempt *gang,
                       const struct gw_gang_kill *kill)
{
    if (gang->state != GW_GANG_ENDING)
        gw_sched_gang_end(sched, gang, GW_NO_INDEX, kill->cause);
    const struct gw_worker *last = NULL;
    for (uint32_t i = 0; i < gang->count; i++) {
        uint32_t slot = gang->ranks[i].slot;
        if (slot == GW_NO_INDEX)
            continue;
        gw_sched_attempt_kill(sched, slot, false);
        struct gw_worker *worker = sched->attempts.items[slot].worker;
        if (worker == last)
            continue;
        last = worker;
        gw_sched_outbox_kill(sched, worker,
                             &(struct gw_kill_row){gang->id, kill->grace_ns, kill->reason});
    }
}

void gw_sched_gang_end_kill(struct gw_sched *sched, struct gw_gang_attempt *gang,
                            const struct gw_gang_kill *kill)
{
    kill_ranks(sched, gang, kill);
    /* The attempt is over if all ranks that it had have ended already. */
    if (gang->live == 0)
        gw_sched_gang_end_over(sched, gang);
}

/* Returns true if the rank ended with an error of its own: an exit code or an error of its
 * function. A rank that loses the connection to its peers ends in the same way. */
static bool is_error(const struct gw_end *end)
{
    return end->outcome == GW_OUTCOME_FAILED ||
           (end->outcome == GW_OUTCOME_CRASHED && !end->signal && end->exit_code);
}

/* Returns true if a later report is probably the real cause of the attempt's end. This is so if the
 * recorded cause is an ordinary error of a rank, and the later report says that a rank was killed
 * (not by its worker), that another worker was lost, or that a rank could not connect. Reports may
 * arrive in any order, because each rank has its own supervisor and each worker its own connection.
 */
static bool outranks(const struct gw_gang_attempt *gang, uint32_t rank, const struct gw_end *end)
{
    bool killed = end->outcome == GW_OUTCOME_OOM ||
                  (end->outcome == GW_OUTCOME_CRASHED && end->signal == KILL_SIGNAL);
    bool lost = end->outcome == GW_OUTCOME_LOST && gang->cause_worker != gang->ranks[rank].worker;
    /* If a rank could not connect, the other ranks fail because of that. */
    bool unreached = end->outcome == GW_OUTCOME_UNREACHED;
    return (unreached || (end->executing && (killed || lost))) && gang->cause_rank != GW_NO_INDEX &&
           is_error(&gang->cause);
}

void gw_sched_gang_end_rank(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t rank,
                            const struct gw_end *end)
{
    struct gw_end unknown;
    if (end->outcome == GW_OUTCOME_UNREACHED && end->peer >= gang->count) {
        unknown = *end;
        unknown.outcome = GW_OUTCOME_FAILED;
        end = &unknown;
    }
    bool first = gang->state != GW_GANG_ENDING;
    if (first)
        gw_sched_gang_end(sched, gang, rank, end);
    bool corrects = !first && outranks(gang, rank, end);
    if (corrects)
        gw_sched_gang_set_cause(gang, rank, end);
    if (rank == 0 && end->port_taken)
        gw_sched_gang_port_taken(gang);
    if ((first || corrects) && end->outcome == GW_OUTCOME_LOST && !end->dismissed)
        gw_sched_quarantine_begin(sched, sched->attempts.items[gang->ranks[rank].slot].worker,
                                  false);
    gw_sched_task_end_badly(sched, gang->ranks[rank].slot, 0);
    if (first) {
        const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
        uint64_t grace_ns = spec->message.fail_grace_ns;
        kill_ranks(
            sched, gang,
            &(struct gw_gang_kill){grace_ns ? grace_ns : GW_FAIL_GRACE_NS, GW_KILL_GANG, end});
    }
    if (gang->live == 0)
        gw_sched_gang_end_over(sched, gang);
}
