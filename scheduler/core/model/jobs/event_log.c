/* The ring of facts of the event log.
 *
 * Invariant: fact n, counted from 1, is at (n - 1) % GW_LOGGED_FACTS_MAX until fact n +
 * GW_LOGGED_FACTS_MAX is added. Facts are added when they become known. Some facts about an attempt
 * are added only when it ends, because only then it is known that they deserve an entry. They
 * follow later facts in the ring, but have their own times. */
#include "scheduler/core/model/jobs/event_log.h"

#include "graph/base/text.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/outcome.h"
#include "scheduler/core/model/worker_name.h"
#include "scheduler/core/model/workers/gpu.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void text_free(const char *text)
{
    free((void *)(uintptr_t)text);
}

static const char *text_copy(const char *text)
{
    size_t length = text ? strnlen(text, GW_LOGGED_TEXT_MAX) : 0;
    if (length == 0)
        return NULL;
    while (text[length] && (text[length] & 0xc0) == 0x80) /* do not cut within a UTF-8 character */
        length--;
    char *copy = strndup(text, length);
    GW_MUST_PTR(copy);
    return copy;
}

void gw_sched_event_log_add(struct gw_sched *sched, struct gw_job *job,
                            const struct gw_logged *fact)
{
    struct gw_event_log *event_log = &sched->event_log;
    if (sched->restoring)
        return;
    if (!gw_sched_event_log_whole(job) && job->log_unusual++ >= GW_LOGGED_UNUSUAL_MAX)
        return;
    size_t at = event_log->told++ % GW_LOGGED_FACTS_MAX;
    if (at == event_log->facts.count)
        GW_MUST(gw_array_push(&event_log->facts, (struct gw_logged){0}));
    struct gw_logged *to = &event_log->facts.items[at];
    text_free(to->text);
    *to = *fact;
    to->job = job->id;
    to->at_ns = fact->at_ns ? fact->at_ns : sched->now_ns;
    to->text = text_copy(fact->text);
}

/* -- Attempts --------------------------------------------------------------------------------- */

/* Logs the placement and start of an attempt, if they were not logged before, because something
 * about the attempt deserves an entry now. */
static void tell_attempt(struct gw_sched *sched, const struct gw_attempt *attempt)
{
    struct gw_job *job = attempt->job;
    if (gw_sched_event_log_whole(job) || attempt->gang)
        return;
    uint16_t tries = job->tasks.charges[attempt->index].tries;
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_PLACED, .at_ns = attempt->placed_ns,
                 .index = attempt->index, .worker = attempt->worker->id, .try_number = tries,
                 .detail = attempt->why, .number = attempt->near_bytes);
    if (attempt->started_ns)
        GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_STARTED, .at_ns = attempt->started_ns,
                     .index = attempt->index, .worker = attempt->worker->id, .try_number = tries);
}

void gw_sched_event_log_placed(struct gw_sched *sched, uint32_t slot)
{
    struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_job *job = attempt->job;
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_PLACED, .index = attempt->index,
                 .worker = attempt->worker->id,
                 .try_number = job->tasks.charges[attempt->index].tries, .detail = attempt->why,
                 .number = attempt->near_bytes);
    attempt->told = sched->event_log.told;
}

void gw_sched_event_log_gang(struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    char where[GW_LOGGED_TEXT_MAX + 64] = "", name[GW_WORKER_NAME_MAX];
    struct gw_text text = {where, sizeof where, 0};
    uint32_t workers = 0;
    /* This comes first, because the end of the text may be cut off. */
    if (gw_sched_gpu_is_physical_shared(sched, gang))
        gw_text_say(&text, "some share a GPU's MIG instances, so that none can use NCCL: ");
    for (uint32_t first = 0, end; first < gang->count; first = end, workers++) {
        for (end = first;
             end < gang->count && gang->ranks[end].worker == gang->ranks[first].worker;)
            end++;
        gw_text_say(&text, "%s%s %u", workers ? ", " : "", end - first == 1 ? "rank" : "ranks",
                    first);
        if (end - first > 1)
            gw_text_say(&text, " to %u", end - 1);
        gw_text_say(&text, " at %s", gw_sched_worker_name(sched, gang->ranks[first].worker, name));
    }
    GW_LOG_EVENT(sched, gang->job, .kind = GW_LOGGED_GANG_PLACED, .index = gang->index,
                 .try_number = gang->job->tasks.charges[gang->index].tries, .count = gang->count,
                 .number = workers, .text = where);
    for (uint32_t i = 0; i < gang->count; i++)
        sched->attempts.items[gang->ranks[i].slot].told = sched->event_log.told;
}

void gw_sched_event_log_outcome(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                                const char *where, const struct gw_end *end, bool unbegun)
{
    char why[2 * GW_LOGGED_TEXT_MAX] = "";
    struct gw_text text = {why, sizeof why, 0};
    bool taken_back = end->outcome == GW_OUTCOME_KILLED && !end->executing;
    /* If an admin ends a worker, its tasks have not failed. */
    uint32_t outcome = end->dismissed ? GW_OUTCOME_PREEMPTED : end->outcome;
    const char *tail = end->stderr_tail ? end->stderr_tail : "";
    size_t length = strlen(tail);
    while (length > 0 && tail[length - 1] == '\n')
        length--;
    size_t line = length;
    while (line > 0 && tail[line - 1] != '\n')
        line--;
    gw_text_say(&text, "%s%s%s", where, *where ? ": " : "",
                end->text && *end->text ? end->text : gw_sched_outcome_name(end->outcome));
    if (length > line)
        gw_text_say(&text, "; its last line: %.*s", (int)(length - line), tail + line);
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_TRY_ENDED, .index = index,
                 .try_number = job->tasks.charges[index].tries,
                 .detail = taken_back ? 0 : (uint8_t)outcome,
                 .count = (uint32_t)(end->signal ? 128 + end->signal : end->exit_code),
                 .number = unbegun, .text = taken_back ? NULL : why);
}

void gw_sched_event_log_cancel(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                               const struct gw_cancel *cancel)
{
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_CANCEL, .index = index,
                 .detail = (uint8_t)cancel->reason, .count = cancel->hard, .text = cancel->by);
}

void gw_sched_event_log_tell_attempt_ended(struct gw_sched *sched, const struct gw_attempt *attempt,
                                           bool well, uint64_t run_ns)
{
    struct gw_event_log *event_log = &sched->event_log;
    if (well) {
        event_log->ended_attempt = attempt->id;
        event_log->ended_run_ns = run_ns;
    }
    tell_attempt(sched, attempt);
}

/* -- Tasks ------------------------------------------------------------------------------------ */

/* Returns the number of results of a task, without ranks that the last attempt of its gang did not
 * have. */
static uint32_t results_of(const struct gw_job *job, const struct gw_fact_task_ended *fact)
{
    const struct gw_msg_spec *spec = &job->specs.items[job->tasks.spec[fact->index]].message;
    uint32_t ranks = 0;
    if (!spec->min_ranks)
        return fact->results.count;
    for (size_t i = job->places.count; i-- > 0;) {
        const struct gw_place *place = &job->places.items[i];
        bool same =
            place->index == fact->index && place->attempt == job->tasks.attempt[fact->index];
        ranks += same;
        if (same && place->rank == 0)
            break; /* older places may have the same attempt id */
    }
    return ranks && ranks < fact->results.count ? ranks : fact->results.count;
}

static void tell_done(struct gw_sched *sched, struct gw_job *job,
                      const struct gw_fact_task_ended *fact)
{
    struct gw_event_log *event_log = &sched->event_log;
    bool timed = event_log->ended_attempt == fact->attempt && fact->attempt;
    uint64_t bytes = 0;
    uint32_t worker = 0, count = results_of(job, fact);
    for (uint32_t i = 0; i < count; i++) {
        const struct gw_result *result = &fact->results.items[i];
        bytes += result->bytes;
        if (!result->value && result->worker && !worker)
            worker = result->worker->id;
    }
    GW_LOG_EVENT(sched, job, .kind = GW_LOGGED_DONE, .index = fact->index,
                 .try_number = job->tasks.charges[fact->index].tries, .number = bytes,
                 .worker = worker, .count = count, .run_ns = timed ? event_log->ended_run_ns : 0);
}

void gw_sched_event_log_tell_task_ended(struct gw_sched *sched, struct gw_job *job,
                                        const struct gw_fact_task_ended *fact)
{
    if (fact->state == GW_TASK_DONE) {
        tell_done(sched, job, fact);
        return;
    }
    bool own = fact->state == GW_TASK_FAILED && fact->cause_job == 0;
    if (!own && !gw_sched_event_log_whole(job))
        return; /* the event log has the failed dependency or the cancellation */
    GW_LOG_EVENT(sched, job,
                 .kind = fact->state == GW_TASK_FAILED ? GW_LOGGED_FAILED : GW_LOGGED_CANCELLED,
                 .index = fact->index, .detail = fact->cause_job != 0,
                 .text = own && fact->attempt == 0 ? fact->text : NULL);
}

const struct gw_logged *gw_sched_event_log_last(const struct gw_sched *sched,
                                                const struct gw_job *job, uint32_t index,
                                                uint32_t kind)
{
    const struct gw_event_log *event_log = &sched->event_log;
    for (size_t i = 0; i < event_log->facts.count; i++) {
        const struct gw_logged *fact =
            &event_log->facts.items[(event_log->told - 1 - i) % GW_LOGGED_FACTS_MAX];
        if (fact->job == job->id && fact->index == index && fact->kind == kind)
            return fact;
    }
    return NULL;
}

/* -- Checks ----------------------------------------------------------------------------------- */

/* Returns true if the state of a task matches the last fact about it in this step. */
static bool is_so(uint32_t kind, uint8_t state)
{
    switch (kind) {
    case GW_LOGGED_READY:
        return state == GW_TASK_READY || state == GW_TASK_WAITING; /* waiting: an input was lost */
    case GW_LOGGED_DONE:
        return state == GW_TASK_DONE;
    case GW_LOGGED_FAILED:
        return state == GW_TASK_FAILED;
    case GW_LOGGED_CANCELLED:
        return state == GW_TASK_CANCELLED;
    case GW_LOGGED_RELEASED:
    case GW_LOGGED_UNNEEDED:
        return state == GW_TASK_RELEASED;
    default:
        return true;
    }
}

static bool told_again(const struct gw_event_log *event_log, uint64_t number)
{
    const struct gw_logged *fact = &event_log->facts.items[(number - 1) % GW_LOGGED_FACTS_MAX];
    for (uint64_t n = number + 1; n <= event_log->told; n++) {
        const struct gw_logged *other = &event_log->facts.items[(n - 1) % GW_LOGGED_FACTS_MAX];
        if (other->job == fact->job && other->index == fact->index)
            return true;
    }
    return false;
}

void gw_sched_event_log_check(const struct gw_sched *sched)
{
    const struct gw_event_log *event_log = &sched->event_log;
    for (uint64_t n = event_log->step + 1;
         n <= event_log->told && event_log->told - event_log->step < 256; n++) {
        const struct gw_logged *fact = &event_log->facts.items[(n - 1) % GW_LOGGED_FACTS_MAX];
        const struct gw_job *job = gw_sched_job_find(sched, fact->job);
        assert(fact->at_ns <= sched->now_ns);
        if (job && fact->index < job->tasks.count && gw_sched_event_log_whole(job) && !job->range)
            assert(is_so(fact->kind, job->tasks.state[fact->index]) || told_again(event_log, n));
    }
    for (size_t slot = 0; slot < sched->attempts.count; slot++) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (attempt->state == GW_ATTEMPT_FREE || !gw_sched_event_log_whole(attempt->job))
            continue;
        assert(attempt->told > 0 && attempt->told <= event_log->told);
        const struct gw_logged *fact =
            &event_log->facts.items[(attempt->told - 1) % GW_LOGGED_FACTS_MAX];
        assert(event_log->told - attempt->told >= GW_LOGGED_FACTS_MAX ||
               (fact->job == attempt->job->id && fact->index == attempt->index &&
                (fact->kind == GW_LOGGED_PLACED || fact->kind == GW_LOGGED_GANG_PLACED ||
                 fact->kind == GW_LOGGED_ADOPTED)));
    }
}

void gw_sched_event_log_deinit(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->event_log.facts.count; i++)
        text_free(sched->event_log.facts.items[i].text);
    gw_array_deinit(&sched->event_log.facts);
}
