/* Explains in sentences for people why a task is in its present state. */
#include "scheduler/core/view/explain.h"

#include "scheduler/core/lifecycle/checkpoint.h"
#include "scheduler/core/lifecycle/hang.h"
#include "scheduler/core/membership/adopt.h"
#include "scheduler/core/membership/hold.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/view/inside.h"
#include "scheduler/core/view/quote.h"
#include "scheduler/core/view/running.h"

#include <stdio.h>
#include <string.h>

static void explain_gang(const struct gw_gang_attempt *gang, uint32_t tries, struct gw_text *text)
{
    gw_text_say(text, "its gang of %u ranks is %s (attempt %u): %u rank%s started, %u %s not ended",
                gang->count, gw_sm_name(&gw_sched_gang_sm, gang->state), tries, gang->ready,
                gang->ready == 1 ? " has" : "s have", gang->live, gang->live == 1 ? "has" : "have");
    if (gang->state == GW_GANG_ENDING && gang->cause.text && *gang->cause.text) {
        gw_text_say(text, "; it ends because of this: ");
        gw_explain_quote(text, gang->cause.text);
    }
}

/* Mentions a prolog if the command has one. The scheduler cannot see when the prolog ends, because
 * the shell that runs the prolog then executes the program in the same process. */
static void explain_prolog(const struct gw_job *job, uint32_t row, struct gw_text *text)
{
    static const char name[] = GW_PROLOG_NAME;
    const struct gw_msg_spec *spec = &job->specs.items[job->tasks.spec[row]].message;
    const char word[] = {
        (char)(0xa0 | (sizeof name - 1))}; /* MessagePack header of a short string of this length */
    if (spec->kind != GW_SPEC_COMMAND)
        return;
    const uint8_t *words = spec->argv.data;
    for (size_t at = 0; at + sizeof name <= spec->argv.size; at++) {
        if (memcmp(words + at, word, 1) != 0 || memcmp(words + at + 1, name, sizeof name - 1) != 0)
            continue;
        gw_text_say(text, "; its prolog runs, or the program after it");
        return;
    }
}

/* A call of an actor that has begun is not killed, because killing the call would kill its actor,
 * too. */
static void explain_cancelling(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                               struct gw_text *text)
{
    uint32_t slot = gw_sched_attempt_find(sched, job->tasks.attempt[row]);
    if (job->calls_of && slot != GW_NO_INDEX && sched->attempts.items[slot].started_ns)
        gw_text_say(text, "it was cancelled after it had begun: a call of an actor runs to its "
                          "end, and only its result is dropped; ");
    else
        gw_text_say(text, "its worker is ending it; ");
}

/* Returns true if the task is prefetched to a worker but has not begun. Uses the same rule as the
 * listing "tasks". */
static bool is_in_line(const struct gw_sched *sched, const struct gw_job *job, uint32_t row)
{
    struct gw_running running;
    if (job->tasks.state[row] != GW_TASK_PLACED)
        return false;
    gw_running_init(&running, sched);
    bool runs = gw_running_row(&running, sched, job, row);
    gw_running_deinit(&running);
    return !runs;
}

static const char *explain_placed(const struct gw_sched *sched, const struct gw_job *job,
                                  uint32_t row, struct gw_text *text)
{
    const struct gw_gang_attempt *gang = gw_sched_gang_of(sched, job, row);
    char where[GW_WORKER_NAME_MAX];
    if (job->tasks.state[row] == GW_TASK_CANCELLING)
        explain_cancelling(sched, job, row, text);
    if (gang)
        explain_gang(gang, job->tasks.charges[row].tries, text);
    else
        gw_text_say(text, "it is at %s, attempt %u",
                    gw_sched_worker_where(sched, job->tasks.worker[row], where),
                    job->tasks.charges[row].tries);
    const bool in_line = is_in_line(sched, job, row);
    if (in_line)
        gw_text_say(text, ", queued behind tasks that run there");
    gw_sched_gpu_tell_clearing(sched, job, row, text);
    gw_sched_explain_wait_preferred(sched, job->specs.items[job->tasks.spec[row]].shape, text);
    if (gang)
        gw_sched_explain_wait_elastic(sched, job, row, text);
    gw_sched_preemption_tell_victim(sched, job, row, text);
    if (gang && job->paused && gang->state == GW_GANG_RUNNING)
        gw_text_say(text, "; it will pause at its next step");
    if (!gang && job->paused) {
        gw_text_say(text, "; it runs to its end, although ");
        gw_sched_explain_wait_paused(sched, job, text);
    }
    uint32_t slot = gang ? GW_NO_INDEX : gw_sched_attempt_find(sched, job->tasks.attempt[row]);
    if (slot != GW_NO_INDEX && gw_sched_attempt_waits(&sched->attempts.items[slot]) &&
        job->specs.items[job->tasks.spec[row]].message.files.size)
        gw_text_say(text, "; it has not begun: its files are copied to the worker first");
    if (gang ? gang->ready > 0 && gang->live > 0 : (job->tasks.flags[row] & GW_TASK_STARTED) != 0)
        explain_prolog(job, row, text);
    if (slot != GW_NO_INDEX)
        gw_sched_inside_explain(sched, &sched->attempts.items[slot], text);
    if (gang) {
        gw_sched_inside_explain_gang(sched, gang, text);
        gw_sched_hang_explain(gang, text);
        char saved[640];
        gw_sched_checkpoint_explain(sched, job, row, saved, sizeof saved);
        gw_text_say(text, "%s", saved);
    }
    if (job->tasks.state[row] == GW_TASK_PIPELINED)
        gw_text_say(text, ", queued behind %u task%s that it depends on", job->tasks.waiting[row],
                    job->tasks.waiting[row] == 1 ? "" : "s");
    if (job->progress && job->progress->index == row) {
        gw_text_say(text, "; it says: %.0f%% ", job->progress->fraction * 100);
        gw_explain_quote(text, job->progress->text);
    }
    if (job->actor)
        gw_text_say(text, "; the actor is %s and has %u call%s at its worker",
                    gw_sm_name(&gw_sched_actor_sm, job->actor->state), job->actor->placed,
                    job->actor->placed == 1 ? "" : "s");
    return job->tasks.state[row] == GW_TASK_CANCELLING             ? "cancelling"
           : in_line || job->tasks.state[row] == GW_TASK_PIPELINED ? "queued_at_worker"
           : gang && gang->state == GW_GANG_ENDING                 ? "gang_ending"
                                                                   : "running";
}

/* Explains a task of a range that has no row: the row was not created yet, or was already given
 * back. */
static const char *explain_rowless(const struct gw_sched *sched, const struct gw_job *job,
                                   uint32_t row, struct gw_text *text)
{
    uint32_t state = gw_sched_range_row_state(job, row);
    const struct gw_failure *failure = gw_sched_task_failure_of(job, row);
    const char *name = gw_sm_name(&gw_sched_task_sm, state);
    if (state == GW_TASK_WAITING && job->paused) {
        gw_sched_explain_wait_paused(sched, job, text);
        return "paused";
    }
    if (state == GW_TASK_WAITING) {
        gw_text_say(text, "its turn has not come: earlier tasks of its job go first");
        return "earlier_tasks";
    }
    if (failure && *failure->text) {
        gw_text_say(text, "%s: ", name);
        gw_explain_quote(text, failure->text);
    } else {
        gw_text_say(text, "it is %s", name);
    }
    return name;
}

/* Formats a number with a comma between groups of three digits, as in "37,123". */
static const char *grouped(uint32_t number, char text[static 16])
{
    char digits[16];
    int length = snprintf(digits, sizeof digits, "%u", number);
    char *to = text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

/* Returns the reason of a job that has ended. */
static const char *ended_as(const struct gw_job *job)
{
    return job->failed ? "failed" : job->cancelled_tasks ? "cancelled" : "done";
}

const char *gw_sched_explain_range(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                   char *to, size_t text_bytes)
{
    struct gw_text text = {to, text_bytes, 0};
    char done[16], all[16], other[16];
    gw_explain_quote(&text, job->name);
    gw_text_say(&text, " (job %llu): %s of %s tasks are done", (unsigned long long)job->id,
                grouped(job->done, done), grouped(job->range->count, all));
    if (job->failed)
        gw_text_say(&text, ", %s failed", grouped(job->failed, other));
    if (job->cancelled_tasks)
        gw_text_say(&text, ", %s were cancelled", grouped(job->cancelled_tasks, other));
    if (job->placed)
        gw_text_say(&text, ", %s are at workers", grouped(job->placed, other));
    if (job->failed && job->first_failure) {
        gw_text_say(&text, "; the first that failed: ");
        gw_explain_quote(&text, job->first_failure->text);
    }
    if (job->state == GW_JOB_ENDED)
        return ended_as(job);
    if (job->range->open_rows >= job->range->ahead)
        gw_text_say(&text, ", and it waits until its client has taken results");
    const char *code = job->range->open_rows >= job->range->ahead ? "results_not_taken" : "running";
    if (job->placed > 0 || !gw_sched_row_live(job, row) || text.used + 2 >= text.size)
        return code;
    gw_text_say(&text, "; ");
    return gw_sched_explain(sched, job, row, to + text.used, text_bytes - text.used);
}

static void explain_awaited(const struct gw_sched *sched, struct gw_text *text)
{
    char why[512];
    gw_sched_hold_explain(sched, "may still have its result", why, sizeof why);
    gw_text_say(text, "; %s", why);
}

/* Finds the task to show as the cause of a job's bad end. Prefers a task with the first recorded
 * failure, then any task that failed by itself, then a task that failed because of another one.
 * Returns GW_NO_INDEX if no task matches. Adds to *ran the number of tasks that ended badly by
 * themselves. */
static uint32_t first_bad(const struct gw_job *job, uint32_t *ran)
{
    uint32_t best = GW_NO_INDEX, best_rank = 0;
    uint8_t wanted = job->failed ? GW_TASK_FAILED : GW_TASK_CANCELLED;
    for (uint32_t row = 0; row < job->tasks.count; row++) {
        bool dependent = job->tasks.flags[row] & GW_TASK_DEPENDENT;
        if (job->tasks.state[row] != wanted)
            continue;
        bool first = gw_sched_task_failure_of(job, row) == job->first_failure;
        uint32_t rank = dependent ? 1 : first ? 3 : 2;
        *ran += !dependent;
        if (rank > best_rank) {
            best_rank = rank;
            best = row;
        }
    }
    return best;
}

const char *gw_sched_explain_job(const struct gw_sched *sched, struct gw_job *job, char *to,
                                 size_t text_bytes)
{
    struct gw_text text = {to, text_bytes, 0};
    char bad[16], all[16], why[GW_ERROR_TEXT_MAX];
    uint32_t ran = 0, row = first_bad(job, &ran);
    const char *end = job->failed ? "failed" : "were cancelled";
    gw_explain_quote(&text, job->name);
    if (row == GW_NO_INDEX) {
        gw_text_say(&text, " (job %llu): all %s tasks are done", (unsigned long long)job->id,
                    grouped(job->tasks.count, all));
        return "done";
    }
    gw_text_say(&text, " (job %llu): %s of %s tasks %s", (unsigned long long)job->id,
                grouped(job->failed ? job->failed : job->cancelled_tasks, bad),
                grouped(job->tasks.count, all), end);
    if (job->failed > ran)
        gw_text_say(&text, ", %s of them without running, because of other tasks",
                    grouped(job->failed - ran, bad));
    gw_sched_explain(sched, job, row, why, sizeof why);
    bool twice = strncmp(why, "failed: ", 8) == 0; /* the text also names the task */
    gw_text_say(&text, "; %s: %s", ran > 1 ? "the first" : "the cause", why + (twice ? 8 : 0));
    return ended_as(job);
}

const char *gw_sched_explain(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                             char *to, size_t text_bytes)
{
    struct gw_text text = {to, text_bytes, 0};
    char label[128];
    gw_sched_task_label(job, gw_sched_row_live(job, row) ? row : 0, label, sizeof label);
    const char *code = "done";
    gw_explain_quote(&text, label);
    gw_text_say(&text, " (task %u of job %llu): ", row, (unsigned long long)job->id);
    if (!gw_sched_row_live(job, row))
        return explain_rowless(sched, job, row, &text);
    switch (job->tasks.state[row]) {
    case GW_TASK_WAITING:
        code = gw_sched_explain_wait_waiting(sched, job, row, &text);
        break;
    case GW_TASK_READY:
        code = gw_sched_explain_wait_ready(sched, job, row, &text);
        break;
    case GW_TASK_PLACED:
    case GW_TASK_PIPELINED:
    case GW_TASK_CANCELLING:
        code = explain_placed(sched, job, row, &text);
        break;
    case GW_TASK_DONE:
    case GW_TASK_RELEASED:
        gw_text_say(&text, "it is done");
        if (gw_sched_adopt_awaits(sched, job, row))
            explain_awaited(sched, &text);
        break;
    default:
        code = gw_sched_explain_end(sched, job, row, &text);
    }
    if (gw_metric_first(job, row)) {
        char metrics[256];
        gw_metric_shown(gw_metric_first(job, row), metrics, sizeof metrics);
        gw_text_say(&text, "; its latest metrics: ");
        gw_explain_quote(&text, metrics);
    }
    const char *annotations = job->specs.items[job->tasks.spec[row]].message.annotations;
    if (*annotations) {
        gw_text_say(&text, " (");
        gw_explain_quote(&text, annotations);
        gw_text_say(&text, ")");
    }
    return code;
}
