/* Decides what follows when an attempt ends.
 *
 * Only the first accepted end of an attempt counts. The id of the attempt shows whether a report is
 * late. The end counts against these budgets:
 *
 * - An error of the user's function: the task's retries.
 *
 * - A crash of the runner: the task's crash budget.
 *
 * - A lost worker: the task's budget of worker losses. So does a kill from outside, if the task has
 * no slot.
 *
 * - A kill, a missing input, a failed GPU, a worker that was told to leave, and the first few
 * failed connections between ranks: no budget. */
#include "scheduler/core/lifecycle/task_end.h"

#include "scheduler/core/lifecycle/delay.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/notify.h"
#include "scheduler/core/send/outbox.h"

#include <gangway/options.h>

#include <stdio.h>
#include <string.h>

enum { KILL_SIGNAL = 9, TERM_SIGNAL = 15 }; /* on every Linux architecture */

/* -- End after a cancel, and attempts taken back ------------------------------------------- */

/* The task was cancelled and its attempt has ended. The outcome of the attempt does not matter any
 * more. */
void gw_sched_task_end_cancelled(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    if (job->tasks.flags[row] & GW_TASK_RERUN) {
        gw_sched_task_requeue(sched, job, row);
        return;
    }
    gw_sched_places_record(sched, job, row);
    GW_FACT(sched, task_ended, .at = job, .job = job->id, .index = row, .state = GW_TASK_CANCELLED,
            .code = GW_ECANCELLED, .attempt = job->tasks.attempt[row], .text = "cancelled");
    gw_sched_notify_task(sched, job, row);
}

/* Short attempts wait at the worker for a short task to end. If long tasks hold all resources of
 * this queue, the short attempts would wait too long, so the worker is asked to return those that
 * it has not begun. */
void gw_sched_task_end_take_back(struct gw_sched *sched, const struct gw_worker_queue *lane)
{
    if (lane->debits > lane->longs || lane->attempts == lane->longs)
        return;
    for (uint32_t slot = lane->worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (attempt->lane == lane && !attempt->is_long && attempt->state == GW_ATTEMPT_SENT)
            gw_sched_outbox_kill(sched, lane->worker,
                                 &(struct gw_kill_row){attempt->id, 0, GW_KILL_TAKE_BACK});
    }
}

/* -- End that was not successful ----------------------------------------------------------- */

/* Returns the error code that the client gets if the task fails for good. */
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

/* Counts one error against the retries that the user allowed. Returns false if none is left. */
static bool charge_retry(const struct gw_spec *spec, struct gw_charges *charges)
{
    if (charges->retries >= spec->message.retries || charges->retries == UINT8_MAX)
        return false;
    charges->retries++;
    return true;
}

/* Returns how many worker losses fail the task: the last of them is final. The counter stops at
 * UINT8_MAX, so a larger number means no limit. */
static uint32_t worker_losses_max(const struct gw_sched *sched, const struct gw_spec *spec)
{
    uint32_t most = spec->message.worker_losses_max;
    if (most == 0)
        return sched->options.loss_budget;
    if (most == GW_NONE || most == GW_UNLIMITED)
        return most == GW_NONE ? 1 : GW_UNLIMITED;
    return most < GW_UNCOUNTED_MAX ? most + 1 : GW_UNCOUNTED_MAX;
}

uint32_t gw_sched_task_end_preemptions_max(const struct gw_spec *spec)
{
    uint32_t most = spec->message.preemptions_max;
    if (most == UINT32_MAX)
        return 0;
    return most && most < GW_UNCOUNTED_MAX ? most : GW_UNCOUNTED_MAX;
}

/* A command, a rank of a gang and an actor each have a process of their own. No other task can have
 * damaged that process, so a crash is an error of the task itself. A pooled runner may have been
 * damaged by an earlier task. */
static bool owns_process(const struct gw_spec *spec)
{
    return spec->message.ranks > 0 || spec->message.kind == GW_SPEC_COMMAND ||
           spec->message.actor == GW_ACTOR_NEW;
}

/* A task without a slot decides about other tasks for as long as those take. SIGKILL and SIGTERM
 * come from outside (an operator, the kernel), and say nothing of the task. Other signals are
 * errors of the task itself. */
static bool killed_from_outside(const struct gw_spec *spec, const struct gw_end *end)
{
    return gw_sched_queue_class_slotless(spec->shape) && end->outcome == GW_OUTCOME_CRASHED &&
           (end->signal == KILL_SIGNAL || end->signal == TERM_SIGNAL);
}

/* The delay after the second kill from outside, and the longest delay. */
#define KILLED_BACKOFF_NS GW_NS_PER_S
#define KILLED_BACKOFF_NS_MAX (60 * GW_NS_PER_S)

/* Returns the delay before a task that was killed from outside runs again: the kernel may kill the
 * task each time that it starts. The delay doubles with each further kill or lost worker, up to the
 * maximum. */
static uint64_t killed_delay_ns(const struct gw_charges *charges)
{
    uint64_t delay_ns = charges->losses > 1 ? KILLED_BACKOFF_NS : 0;
    for (uint32_t i = 2; i < charges->losses && delay_ns < KILLED_BACKOFF_NS_MAX; i++)
        delay_ns *= 2;
    return delay_ns < KILLED_BACKOFF_NS_MAX ? delay_ns : KILLED_BACKOFF_NS_MAX;
}

static bool charge_loss(const struct gw_sched *sched, const struct gw_spec *spec,
                        struct gw_charges *charges)
{
    charges->losses += charges->losses < UINT8_MAX;
    return charges->losses < worker_losses_max(sched, spec);
}

/* Counts the end against the budgets of the task. Returns true if the task may run again. If once
 * is true, a call or a living actor has run, and it may run a second time only if its retries allow
 * it. */
static bool charge(const struct gw_sched *sched, const struct gw_spec *spec,
                   const struct gw_end *end, bool once, struct gw_charges *charges)
{
    if (once && end->executing &&
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
        if (killed_from_outside(spec, end))
            return charge_loss(sched, spec, charges);
        if (owns_process(spec))
            return charge_retry(spec, charges);
        return ++charges->crashes < sched->options.crash_budget;
    case GW_OUTCOME_LOST:
        if (worker_losses_max(sched, spec) == GW_UNLIMITED && (!end->executing || end->dismissed))
            return true;
        if (!end->executing)
            break;
        /* A worker that left as planned is no failure, unless the task must never run twice. */
        if (end->dismissed && worker_losses_max(sched, spec) > 1)
            break;
        return charge_loss(sched, spec, charges);
    case GW_OUTCOME_PREEMPTED:
        /* An attempt that its user paused before it ran does not count. */
        if (!end->executing)
            return true;
        return ++charges->preemptions <= gw_sched_task_end_preemptions_max(spec);
    case GW_OUTCOME_KILLED:
        /* An attempt that the scheduler took back before it ran does not count. */
        if (!end->executing)
            return true;
        break;
    case GW_OUTCOME_PORT:
        if (charges->ports >= GW_PORT_TRIES_MAX)
            return charge_retry(spec, charges);
        charges->ports++;
        return true;
    case GW_OUTCOME_UNREACHED:
        if (charges->uncounted >= GW_UNREACHED_MAX)
            return charge_retry(spec, charges);
        charges->uncounted++;
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
        return false; /* no retry: over the time limit, cannot start, ... */
    }
    return ++charges->uncounted < GW_UNCOUNTED_MAX;
}

/* Shortens a text that does not fit into the rest of `bytes` at its beginning. The first cause is
 * at the end of the text, because each dependent task puts its own name before it. */
static const char *end_of(const char *why, size_t used, size_t bytes)
{
    size_t length = strlen(why), room = used + 1 < bytes ? bytes - used - 1 : 0;
    if (length <= room)
        return why;
    why += length - room;
    /* Do not cut in the middle of a UTF-8 character. */
    while ((*why & 0xc0) == 0x80)
        why++;
    return why;
}

/* Writes for example "task name (task 3 of job 7) on host a: killed by signal 9", followed by the
 * last lines of stderr. */
static void failure_text(const struct gw_task_end_cause *task_end, char *text, size_t bytes)
{
    const struct gw_end *end = task_end->end;
    char label[128];
    gw_sched_task_label(task_end->job, task_end->index, label, sizeof label);
    const char *why = end->text && *end->text ? end->text : gw_sched_outcome_name(end->outcome);
    int n = snprintf(text, bytes, "%s (task %u of job %llu)%s%s: ", label, task_end->index,
                     (unsigned long long)task_end->job->id, *task_end->where ? ", " : "",
                     task_end->where);
    if (n > 0 && (size_t)n < bytes)
        n += snprintf(text + n, bytes - (size_t)n, "%s", end_of(why, (size_t)n, bytes));
    if (end->stderr_tail && *end->stderr_tail && n > 0 && (size_t)n < bytes)
        (void)snprintf(text + n, bytes - (size_t)n, "\n%s", end->stderr_tail);
}

/* Returns true if a result is nil (MessagePack 0xc0), for example of a function that was stopped
 * before it returned a value. */
static bool is_nil(const struct gw_sched *sched, uint32_t object)
{
    const uint8_t *value =
        object == GW_NO_INDEX ? NULL : gw_sched_object_value(&sched->objects.items[object]);
    return value && sched->objects.items[object].size == 1 && value[0] == 0xc0;
}

/* A task can fail because an input is nil: the gang that should have produced the value was
 * stopped. Appends a line about each such gang to the failure text. */
static void add_stopped(const struct gw_sched *sched, struct gw_job *job, uint32_t row, char *text,
                        size_t bytes)
{
    const struct gw_tasks *tasks = &job->tasks;
    char label[128];
    for (uint32_t e = tasks->deps_at[row]; e < gw_sched_deps_end(tasks, row); e++) {
        struct gw_row from;
        const uint32_t rank = gw_sched_dep_rank(tasks, e);
        if (rank == GW_DEP_AFTER || rank == GW_DEP_ALL || !gw_sched_dep(sched, job, e, &from) ||
            !is_nil(sched, gw_sched_object_of(sched, from.job, from.index, rank)))
            continue;
        const struct gw_logged *fact =
            gw_sched_event_log_last(sched, from.job, from.index, GW_LOGGED_STOPPED);
        size_t used = strlen(text);
        if (!fact || used + 1 >= bytes)
            continue;
        gw_sched_task_label(from.job, from.index, label, sizeof label);
        (void)snprintf(text + used, bytes - used,
                       "\n%s (task %u of job %llu) was %s and returned no value", label, from.index,
                       (unsigned long long)from.job->id, fact->text);
    }
}

void gw_sched_task_end(struct gw_sched *sched, const struct gw_task_end_cause *task_end)
{
    struct gw_job *job = task_end->job;
    uint32_t row = task_end->index;
    gw_sched_decided_note(sched, task_end);
    if (job->tasks.state[row] == GW_TASK_CANCELLING) {
        gw_sched_task_end_cancelled(sched, job, row);
        return;
    }
    /* A pipelined task whose input was never made is queued again. */
    if (job->tasks.state[row] == GW_TASK_PIPELINED) {
        gw_sched_task_requeue(sched, job, row);
        return;
    }
    if (gw_sched_task_end_actor_well(sched, job))
        return;
    gw_sched_event_log_outcome(sched, job, row, task_end->where, task_end->end, task_end->unbegun);
    struct gw_charges charges = job->tasks.charges[row];
    const struct gw_charges before = charges;
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    bool once = gw_sched_is_call(spec) || gw_sched_task_end_actor_stood(job);
    bool again = !task_end->final && charge(sched, spec, task_end->end, once, &charges);
    if (memcmp(&before, &charges, sizeof charges) != 0)
        GW_FACT(sched, task_charges, .at = job, .job = job->id, .index = row, .charges = charges);
    if (again) {
        uint64_t delay_ns = 0;
        bool refused = task_end->end->outcome == GW_OUTCOME_FULL;
        if (charges.retries + charges.crashes > before.retries + before.crashes)
            delay_ns = gw_sched_delay_ns(spec, &charges);
        else if (charges.losses != before.losses && killed_from_outside(spec, task_end->end))
            delay_ns = killed_delay_ns(&charges);
        else if (refused ||
                 (task_end->end->outcome == GW_OUTCOME_KILLED && !task_end->end->executing))
            delay_ns = gw_sched_memory_back_off_ns(sched, job, row, refused);
        gw_sched_task_end_actor_again(sched, job);
        gw_sched_task_requeue(sched, job, row);
        if (delay_ns)
            gw_sched_delay(sched, job, row, delay_ns);
        return;
    }
    char text[GW_ERROR_TEXT_MAX];
    failure_text(task_end, text, sizeof text);
    add_stopped(sched, job, row, text, sizeof text);
    const struct gw_end *end = task_end->end;
    int32_t exit_code = end->signal ? 128 + end->signal : end->exit_code;
    gw_sched_places_record(sched, job, row);
    GW_FACT(sched, task_ended, .at = job, .job = job->id, .index = row, .state = GW_TASK_FAILED,
            .code = code_of(end->outcome), .exit_code = exit_code, .attempt = task_end->attempt,
            .text = text);
    gw_sched_notify_task(sched, job, row);
}

struct unfetched {
    struct gw_worker *worker;
};

/* Releases an input at a worker if only the ended attempt was fetching it there. */
static void input_unfetched(struct gw_sched *sched, uint32_t at, void *arg)
{
    const struct unfetched *unfetched = arg;
    uint32_t place = gw_sched_object_holder_of(sched, at, unfetched->worker->slot);
    if (place == GW_NO_INDEX)
        return;
    const struct gw_holder *holder = &sched->holders.items[place];
    const struct gw_object *object = &sched->objects.items[at];
    if (!holder->firm && holder->fetching == 1)
        gw_sched_outbox_release(
            sched, unfetched->worker,
            &(struct gw_release_row){object->job->id, object->index, object->rank});
}

void gw_sched_task_end_badly(struct gw_sched *sched, uint32_t slot, uint64_t run_ns)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct unfetched unfetched = {attempt->worker};
    if (!attempt->pipelined)
        gw_sched_object_each_input(sched, attempt->job, attempt->index,
                                   &(struct gw_input_visit){input_unfetched, &unfetched});
    gw_sched_attempt_end(sched, slot, false, run_ns, 0);
}

/* -- End of a task ------------------------------------------------------------------------- */

bool gw_sched_task_end_actor_stood(const struct gw_job *job)
{
    return job->actor && job->actor->state == GW_ACTOR_ALIVE;
}

void gw_sched_task_end_actor_again(struct gw_sched *sched, struct gw_job *job)
{
    if (gw_sched_task_end_actor_stood(job))
        gw_sched_actor_move(sched, job->actor, GW_ACTOR_RESTARTING);
}

bool gw_sched_task_end_actor_well(struct gw_sched *sched, struct gw_job *job)
{
    static const uint8_t nil[] = {0xc0};
    if (!job->actor || job->actor->state != GW_ACTOR_ENDING)
        return false;
    struct gw_result result = {.bytes = sizeof nil, .value = nil, .size = sizeof nil};
    gw_sched_task_end_done(sched, job, 0, &(struct gw_results){&result, 1});
    return true;
}

void gw_sched_task_end_done(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                            const struct gw_results *results)
{
    gw_sched_places_record(sched, job, row);
    GW_FACT(sched, task_ended, .at = job, .job = job->id, .index = row, .state = GW_TASK_DONE,
            .attempt = job->tasks.attempt[row], .text = "", .results = *results);
    gw_sched_notify_task(sched, job, row);
}
