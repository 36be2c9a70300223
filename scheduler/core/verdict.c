/* Verdicts.
 *
 * The first accepted end of an attempt wins; the attempt is the fence. What is charged to whom: the
 * user's own errors to the task's retries, the end of a runner under it to its crash budget, a lost
 * worker to its loss budget; being killed, missing an input, the failure of a GPU, or a worker that
 * was sent away or told to end, to nobody. */
#include "scheduler/core/verdict.h"
#include "scheduler/core/cooling.h"

#include "scheduler/core/actor.h"
#include "scheduler/core/announce.h"
#include "scheduler/core/attempt.h"
#include "scheduler/core/delay.h"
#include "scheduler/core/gang_end.h"
#include "scheduler/core/gang_try.h"
#include "scheduler/core/gpu.h"
#include "scheduler/core/handover.h"
#include "scheduler/core/judged.h"
#include "scheduler/core/memory.h"
#include "scheduler/core/object.h"
#include "scheduler/core/outbox.h"
#include "scheduler/core/place.h"
#include "scheduler/core/task.h"
#include "scheduler/core/worker.h"

#include <stdio.h>
#include <string.h>

const char *gw_sched_outcome_name(uint32_t outcome)
{
    switch (outcome) {
#define NAME(name, number, text)                                                                   \
    case number:                                                                                   \
        return text;
        GW_OUTCOMES(NAME)
#undef NAME
    default:
        return "?";
    }
}

uint32_t gw_sched_attempt_slot(const struct gw_sched *sched, const struct gw_worker *worker,
                               uint64_t id, uint32_t rank)
{
    uint32_t slot = gw_sched_attempt_find(sched, id);
    if (slot == GW_NONE)
        return GW_NONE;
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    if (attempt->worker == worker && !attempt->gang && rank == GW_RANK_NONE)
        return slot;
    return GW_NONE;
}

/* -- Well ----------------------------------------------------------------------------------------
 */

void gw_sched_task_done(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                        const struct gw_results *results)
{
    gw_sched_places_keep(sched, job, row);
    GW_FACT(sched, task_ended, .at = job, .job = job->id, .index = row, .state = GW_TASK_DONE,
            .attempt = job->tasks.attempt[row], .text = "", .results = *results);
    gw_sched_announce_task(sched, job, row);
}

/* The task was told to end, and did: how no longer matters. */
static void task_cancelled(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    if (job->tasks.flags[row] & GW_TASK_RERUN) {
        GW_FACT(sched, task_requeued, .job = job, .index = row);
        return;
    }
    gw_sched_places_keep(sched, job, row);
    GW_FACT(sched, task_ended, .at = job, .job = job->id, .index = row, .state = GW_TASK_CANCELLED,
            .code = GW_ECANCELLED, .attempt = job->tasks.attempt[row], .text = "cancelled");
    gw_sched_announce_task(sched, job, row);
}

/* What was to run soon behind a short task runs late behind a long one: where no slot is left for
 * it in this lane, the worker is asked to give back what it has not begun. */
void gw_sched_take_back(struct gw_sched *sched, const struct gw_lane *lane)
{
    if (lane->debits > lane->longs || lane->attempts == lane->longs)
        return;
    for (uint32_t slot = lane->worker->first; slot != GW_NONE;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (attempt->lane == lane && !attempt->is_long && attempt->state == GW_ATTEMPT_SENT)
            gw_sched_send_kill(sched, lane->worker,
                               &(struct gw_kill_row){attempt->id, 0, GW_KILL_TAKE_BACK});
    }
}

int gw_sched_on_started(struct gw_sched *sched, struct gw_worker *worker,
                        const struct gw_msg_started *started)
{
    if (started->rank.count != started->attempt.count)
        return GW_EPROTO;
    for (uint32_t i = 0; i < started->attempt.count; i++) {
        uint64_t id = gw_col64_at(started->attempt, i);
        uint32_t rank = gw_col32_at(started->rank, i);
        uint32_t slot = gw_sched_attempt_slot(sched, worker, id, rank);
        if (slot == GW_NONE)
            slot = gw_sched_gang_slot(sched, worker, id, rank);
        if (slot == GW_NONE || sched->attempts.items[slot].started_ns ||
            sched->attempts.items[slot].state == GW_ATTEMPT_RUNNING)
            continue;
        const bool waited = gw_sched_attempt_waits(&sched->attempts.items[slot]);
        bool was_long = sched->attempts.items[slot].is_long;
        GW_FACT(sched, attempt_started, .slot = slot);
        if (waited && !was_long)
            gw_sched_take_back(sched, sched->attempts.items[slot].lane);
    }
    return 0;
}

static int finished_row(struct gw_sched *sched, struct gw_worker *worker, uint64_t id,
                        uint32_t rank, const struct gw_result *result, uint64_t run_ns)
{
    uint32_t slot = gw_sched_attempt_slot(sched, worker, id, rank);
    if (slot == GW_NONE)
        return gw_sched_gang_on_finished(
            sched, worker, &(struct gw_rank_end){.attempt = id, .rank = rank, .result = result});
    struct gw_job *job = sched->attempts.items[slot].job;
    uint32_t row = sched->attempts.items[slot].index;
    GW_FACT(sched, attempt_ended, .slot = slot, .well = true, .run_ns = run_ns,
            .bytes = result->bytes);
    if (sched->coolings.count && job->specs.items[job->tasks.spec[row]].message.files.size)
        gw_sched_cooling_files_end(sched, worker);
    uint8_t state = job->tasks.state[row];
    if (state == GW_TASK_CANCELLING || state == GW_TASK_HANDED) {
        if (!result->value) /* the worker has it, nobody will ask for it */
            gw_sched_send_release(sched, worker, &(struct gw_release_row){job->id, row, 0});
        gw_sched_handover_recall(sched, job, row);
        if (state == GW_TASK_CANCELLING)
            task_cancelled(sched, job, row);
        else /* what it took was cancelled meanwhile */
            GW_FACT(sched, task_requeued, .job = job, .index = row);
        return 0;
    }
    gw_sched_task_done(sched, job, row, &(struct gw_results){result, 1});
    return 0;
}

int gw_sched_on_finished(struct gw_sched *sched, struct gw_worker *worker,
                         const struct gw_msg_finished *finished)
{
    uint32_t rows = finished->attempt.count;
    if (finished->rank.count != rows || finished->bytes.count != rows ||
        finished->value_size.count != rows || finished->run_ns.count != rows)
        return GW_EPROTO;
    const uint8_t *values = finished->values.data, *end = values + finished->values.size;
    int rc = 0;
    for (uint32_t i = 0; i < rows && rc == 0; i++) {
        gw_sched_attempts_ahead(sched, &finished->attempt, i);
        uint32_t size = gw_col32_at(finished->value_size, i);
        uint64_t bytes = gw_col64_at(finished->bytes, i);
        if (size > (size_t)(end - values) || (size > 0 && size != bytes))
            return GW_EPROTO;
        struct gw_result result = {.bytes = bytes, .size = size, .worker = worker};
        if (size == bytes)
            result.value = size ? (const void *)values : "";
        values += size;
        rc =
            finished_row(sched, worker, gw_col64_at(finished->attempt, i),
                         gw_col32_at(finished->rank, i), &result, gw_col64_at(finished->run_ns, i));
    }
    return rc;
}

/* -- Otherwise -----------------------------------------------------------------------------------
 */

/* The error that a client gets when it is final. */
static int code_of(uint32_t outcome)
{
    switch (outcome) {
    case GW_OUTCOME_CRASHED:
    case GW_OUTCOME_OOM:
        return GW_ECRASHED;
    case GW_OUTCOME_TIMEOUT:
        return GW_ETIMEDOUT;
    case GW_OUTCOME_CANNOT_START:
    case GW_OUTCOME_FILES:
        return GW_ESTART;
    case GW_OUTCOME_FULL:
        return GW_ELIMIT;
    case GW_OUTCOME_LOST:
    case GW_OUTCOME_LOST_INPUT:
    case GW_OUTCOME_GPU:
        return GW_ELOST;
    case GW_OUTCOME_KILLED:
    case GW_OUTCOME_PREEMPTED:
        return GW_ECANCELLED;
    default:
        return GW_ETASK;
    }
}

/* The user's own error: as many further attempts as they asked for. */
static bool charge_retry(const struct gw_spec *spec, struct gw_charges *charges)
{
    if (charges->retries >= spec->message.retries || charges->retries == UINT8_MAX ||
        GW_PLANTED(615))
        return false;
    if ((GW_PLANTED(191) && spec->message.ranks > 0) || GW_PLANTED(616))
        return true;
    charges->retries++;
    return true;
}

/* How many workers may be lost under it, the last one included. */
static uint32_t losses_max(const struct gw_sched *sched, const struct gw_spec *spec)
{
    uint32_t most = spec->message.losses_max;
    if (most == 0)
        return sched->options.loss_budget;
    if (most == UINT32_MAX)
        return 1; /* the first is the last */
    return most < GW_UNCHARGED_MAX ? most + 1 : GW_UNCHARGED_MAX;
}

uint32_t gw_sched_preemptions_max(const struct gw_spec *spec)
{
    uint32_t most = spec->message.preemptions_max;
    if (most == UINT32_MAX)
        return 0;
    return most && most < GW_UNCHARGED_MAX ? most : GW_UNCHARGED_MAX;
}

/* A command, a rank of a gang, and an actor has its process for itself: no other task can have
 * broken it, so its crash is its own error. A pooled runner may have been broken before. */
static bool owns_process(const struct gw_spec *spec)
{
    return spec->message.ranks > 0 || spec->message.kind == GW_SPEC_COMMAND ||
           spec->message.actor == GW_ACTOR_NEW;
}

/* Charges the end to the task; tells whether it may run again. once: what ran must not run a
 * second time unless its user allows it. */
static bool charge(const struct gw_sched *sched, const struct gw_spec *spec,
                   const struct gw_end *end, bool once, struct gw_charges *charges)
{
    if (once && end->executing && !GW_PLANTED(100) &&
        (end->outcome == GW_OUTCOME_CRASHED || end->outcome == GW_OUTCOME_OOM ||
         end->outcome == GW_OUTCOME_LOST || end->outcome == GW_OUTCOME_GPU ||
         end->outcome == GW_OUTCOME_FULL))
        return charge_retry(spec, charges);
    switch (end->outcome) {
    case GW_OUTCOME_FAILED:
        return charge_retry(spec, charges);
    case GW_OUTCOME_CRASHED:
    case GW_OUTCOME_OOM:
        if (!end->executing)
            break;
        if (owns_process(spec))
            return charge_retry(spec, charges);
        if (GW_PLANTED(4))
            return true;
        return ++charges->crashes < sched->options.crash_budget;
    case GW_OUTCOME_LOST:
        if (!end->executing)
            break;
        if (end->dismissed && losses_max(sched, spec) > 1)
            break; /* nothing failed; who allows no loss wants it never to run twice */
        return ++charges->losses < losses_max(sched, spec);
    case GW_OUTCOME_PREEMPTED:
        if (!end->executing)
            return true; /* paused, by its user's own wish */
        return ++charges->preemptions <= gw_sched_preemptions_max(spec);
    case GW_OUTCOME_KILLED:
        if (!end->executing)
            return true; /* taken back */
        break;
    case GW_OUTCOME_PORT:
        if (charges->ports >= GW_PORT_TRIES_MAX || GW_PLANTED(281))
            return charge_retry(spec, charges);
        charges->ports++;
        return true;
    case GW_OUTCOME_FULL:
        if (end->executing && ++charges->crashes >= sched->options.crash_budget)
            return false;
        return gw_sched_memory_elsewhere(sched, spec->shape);
    case GW_OUTCOME_LOST_INPUT:
    case GW_OUTCOME_GPU:
    case GW_OUTCOME_FILES:
        break;
    default:
        return false; /* over its limit, cannot start: final */
    }
    return ++charges->uncharged < GW_UNCHARGED_MAX;
}

/* A text that is too long for what is left of `bytes` loses its beginning: where tasks wait for
 * tasks, each puts its own name before the first cause. */
static const char *end_of(const char *why, size_t used, size_t bytes)
{
    size_t length = strlen(why), room = used + 1 < bytes ? bytes - used - 1 : 0;
    if (length <= room)
        return why;
    why += length - room;
    while ((*why & 0xc0) == 0x80) /* not in the middle of a character */
        why++;
    return why;
}

/* "task name (task 3 of job 7) on host a: killed by signal 9" and the last lines of its stderr. */
static void failure_text(const struct gw_verdict *verdict, char *text, size_t bytes)
{
    const struct gw_end *end = verdict->end;
    char label[128];
    gw_sched_task_label(verdict->job, verdict->index, label, sizeof label);
    const char *why = end->text && *end->text ? end->text : gw_sched_outcome_name(end->outcome);
    int n =
        snprintf(text, bytes, "%s (task %u of job %llu)%s%s: ", label, verdict->index,
                 (unsigned long long)verdict->job->id, *verdict->where ? ", " : "", verdict->where);
    if (n > 0 && (size_t)n < bytes)
        n += snprintf(text + n, bytes - (size_t)n, "%s", end_of(why, (size_t)n, bytes));
    if (end->stderr_tail && *end->stderr_tail && n > 0 && (size_t)n < bytes)
        (void)snprintf(text + n, bytes - (size_t)n, "\n%s", end->stderr_tail);
}

void gw_sched_verdict(struct gw_sched *sched, const struct gw_verdict *verdict)
{
    struct gw_job *job = verdict->job;
    uint32_t row = verdict->index;
    gw_sched_judged_note(sched, verdict);
    if (job->tasks.state[row] == GW_TASK_CANCELLING) {
        task_cancelled(sched, job, row);
        return;
    }
    if (job->tasks.state[row] == GW_TASK_HANDED) { /* what it waited for never came */
        GW_FACT(sched, task_requeued, .job = job, .index = row);
        return;
    }
    if (gw_sched_actor_end_well(sched, job))
        return;
    GW_FACT(sched, try_ended, .job = job, .index = row, .where = verdict->where,
            .end = verdict->end, .unbegun = verdict->unbegun);
    struct gw_charges charges = job->tasks.charges[row];
    const struct gw_charges before = charges;
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    bool once = gw_sched_is_call(spec) || gw_sched_actor_stood(job);
    bool again = !verdict->final && charge(sched, spec, verdict->end, once, &charges);
    if (memcmp(&before, &charges, sizeof charges) != 0)
        GW_FACT(sched, task_charged, .at = job, .job = job->id, .index = row, .charges = charges);
    if (again) {
        uint64_t delay_ns = 0;
        bool refused = verdict->end->outcome == GW_OUTCOME_FULL;
        if (charges.retries + charges.crashes > before.retries + before.crashes)
            delay_ns = gw_sched_delay_ns(spec, &charges);
        else if (refused ||
                 (verdict->end->outcome == GW_OUTCOME_KILLED && !verdict->end->executing))
            delay_ns = gw_sched_memory_back_off_ns(sched, job, row, refused);
        gw_sched_actor_again(sched, job);
        GW_FACT(sched, task_requeued, .job = job, .index = row);
        if (delay_ns)
            gw_sched_delay(sched, job, row, delay_ns);
        return;
    }
    char text[GW_ERROR_TEXT_MAX];
    failure_text(verdict, text, sizeof text);
    const struct gw_end *end = verdict->end;
    int32_t exit_code = end->signal ? 128 + end->signal : end->exit_code;
    gw_sched_places_keep(sched, job, row);
    GW_FACT(sched, task_ended, .at = job, .job = job->id, .index = row, .state = GW_TASK_FAILED,
            .code = code_of(end->outcome), .exit_code = exit_code, .attempt = verdict->attempt,
            .text = text);
    gw_sched_announce_task(sched, job, row);
}

struct unfetched {
    struct gw_worker *worker;
};

/* An input that an attempt was fetching when it ended: nobody will have it there. */
static void input_unfetched(struct gw_sched *sched, uint32_t at, void *arg)
{
    const struct unfetched *unfetched = arg;
    uint32_t place = gw_sched_holder_of(sched, at, unfetched->worker->slot);
    if (place == GW_NONE)
        return;
    const struct gw_holder *holder = &sched->holders.items[place];
    const struct gw_object *object = &sched->objects.items[at];
    if (!holder->firm && holder->fetching == 1)
        gw_sched_send_release(
            sched, unfetched->worker,
            &(struct gw_release_row){object->job->id, object->index, object->rank});
}

/* Ends the attempt at a place, not well; rows of a gang's ranks, too. */
void gw_sched_attempt_end_badly(struct gw_sched *sched, uint32_t slot, uint64_t run_ns)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct unfetched unfetched = {attempt->worker};
    if (!attempt->handed)
        gw_sched_each_input(sched, attempt->job, attempt->index,
                            &(struct gw_input_visit){input_unfetched, &unfetched});
    GW_FACT(sched, attempt_ended, .slot = slot, .run_ns = run_ns);
}

void gw_sched_verdict_ended(struct gw_sched *sched, uint32_t slot, const struct gw_end *end)
{
    const struct gw_attempt attempt = sched->attempts.items[slot];
    if (attempt.gang) {
        gw_sched_gang_rank_ended(sched, attempt.gang, attempt.rank, end);
        return;
    }
    char where[320];
    (void)snprintf(where, sizeof where, "on %s", attempt.worker->host);
    gw_sched_attempt_end_badly(sched, slot, end->run_ns);
    gw_sched_verdict(sched, &(struct gw_verdict){attempt.job, attempt.index, attempt.id, where, end,
                                                 false, false});
}

int gw_sched_on_ended(struct gw_sched *sched, struct gw_worker *worker,
                      const struct gw_msg_ended *ended)
{
    if (ended->outcome < GW_OUTCOME_FAILED || ended->outcome == GW_OUTCOME_LOST ||
        (ended->outcome > GW_OUTCOME_GPU && ended->outcome != GW_OUTCOME_FILES &&
         ended->outcome != GW_OUTCOME_FULL))
        return GW_EPROTO;
    uint32_t slot = gw_sched_attempt_slot(sched, worker, ended->attempt, ended->rank);
    if (slot == GW_NONE)
        slot = gw_sched_gang_slot(sched, worker, ended->attempt, ended->rank);
    if (slot == GW_NONE) {
        gw_sched_worker_on_stale(sched, worker, ended->attempt, ended->rank);
        return 0;
    }
    struct gw_end end = {
        .outcome = ended->outcome,
        .code = ended->code,
        .exit_code = ended->exit_code,
        .signal = ended->signal,
        .executing = ended->executing != 0,
        .port_taken = ended->port_taken != 0,
        .text = ended->text,
        .stderr_tail = ended->stderr_tail,
        .run_ns = ended->outcome == GW_OUTCOME_FAILED ? ended->run_ns : 0,
    };
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    const struct gw_shape *shape =
        attempt->job->specs.items[attempt->job->tasks.spec[attempt->index]].shape;
    if (end.outcome == GW_OUTCOME_FILES && !gw_sched_cooling_files_begin(sched, worker, shape))
        end.outcome = GW_OUTCOME_CANNOT_START; /* no other worker may do better */
    char text[GW_ERROR_TEXT_MAX];
    if (gw_sched_gpu_ran_out(attempt, &end)) {
        uint64_t bytes = worker->gpus[attempt->gpu].memory_bytes;
        bytes = attempt->gpu_share ? bytes / GW_GPU_WHOLE * attempt->gpu_share : bytes;
        (void)snprintf(text, sizeof text, "out of GPU memory (it has %.1f GiB): %s",
                       (double)bytes / (1 << 30), end.text);
        end.text = text;
    }
    gw_sched_verdict_ended(sched, slot, &end);
    return 0;
}

int gw_sched_on_failures(struct gw_sched *sched, struct gw_worker *worker,
                         const struct gw_msg_failures *failures)
{
    int rc = 0;
    for (uint32_t i = 0; i < failures->attempt.count && rc == 0; i++) {
        const struct gw_msg_ended ended = {.attempt = gw_col64_at(failures->attempt, i),
                                           .rank = GW_RANK_NONE,
                                           .outcome = GW_OUTCOME_FAILED,
                                           .code = failures->code,
                                           .executing = 1,
                                           .text = failures->text,
                                           .stderr_tail = failures->stderr_tail,
                                           .run_ns = gw_col64_at(failures->run_ns, i)};
        gw_sched_attempts_ahead(sched, &failures->attempt, i);
        rc = gw_sched_on_ended(sched, worker, &ended);
    }
    return rc;
}
