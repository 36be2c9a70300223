/* Describes the facts of the event log in words, and answers the query "events".
 *
 * If the event log does not hold a fact, the answer takes it from the present state of the task
 * (who submitted the task, what it waited for, how it ended). The answer's "note" says what may be
 * missing. */
#include "graph/base/text.h"
#include "scheduler/core/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- Words ------------------------------------------------------------------------------------- */

static void say_size(struct gw_text *text, uint64_t bytes)
{
    char size[GW_TEXT_BYTES_ROOM];
    gw_text_say(text, "%s", gw_text_bytes(bytes, size));
}

static void say_duration(struct gw_text *text, uint64_t ns)
{
    char duration[GW_TEXT_DURATION_ROOM];
    gw_text_say(text, "%s", gw_text_duration(ns, duration));
}

static void say_worker(const struct gw_sched *sched, struct gw_text *text, uint32_t id)
{
    char where[GW_WORKER_NAME_MAX];
    gw_text_say(text, "%s", gw_sched_worker_where(sched, id, where));
}

static void tell_placed(const struct gw_sched *sched, const struct gw_logged *fact,
                        struct gw_text *text)
{
    gw_text_say(text, "placed at ");
    say_worker(sched, text, fact->worker);
    switch (fact->detail) {
    case GW_PLACED_DATA:
        gw_text_say(text, ", which has most of its inputs (");
        say_size(text, fact->number);
        gw_text_say(text, ")");
        break;
    case GW_PLACED_NEED:
        gw_text_say(text, ", which has the resources that it asks for");
        break;
    case GW_PLACED_QUEUED:
        gw_text_say(text, ", behind short tasks: no slot was free");
        break;
    case GW_PLACED_SUCCESSOR:
        gw_text_say(text, " ahead of time: it runs the tasks that this one depends on");
        break;
    case GW_PLACED_CALL:
        gw_text_say(text, ", where its actor is");
        break;
    case GW_PLACED_ONLY:
        gw_text_say(text, ", the only worker");
        break;
    default:
        gw_text_say(text, ", which had the most free slots");
    }
}

static void tell_done(const struct gw_sched *sched, const struct gw_logged *fact,
                      struct gw_text *text)
{
    gw_text_say(text, "done");
    if (fact->run_ns) {
        gw_text_say(text, " after running ");
        say_duration(text, fact->run_ns);
    }
    if (!fact->count) { /* the task is pure and shares the result of another task */
        gw_text_say(text, "; it shares another task's result");
        return;
    }
    if (fact->count > 1)
        gw_text_say(text, "; %u results, ", fact->count);
    else
        gw_text_say(text, "; its result is ");
    say_size(text, fact->number);
    if (fact->worker) {
        gw_text_say(text, ", at ");
        say_worker(sched, text, fact->worker);
    }
}

static void tell_cancel(const struct gw_logged *fact, struct gw_text *text)
{
    const char *by = fact->text;
    if (fact->detail == GW_KILL_SESSION)
        gw_text_say(text, "to be cancelled: its client%s%s has disconnected", by ? " " : "",
                    by ? by : "");
    else if (by)
        gw_text_say(text, "to be cancelled%s, by %s", fact->count ? " at once" : "", by);
    else
        gw_text_say(text, "to be cancelled: nobody needs it any more");
}

static void tell_attempt_outcome(const struct gw_logged *fact, struct gw_text *text)
{
    const char *why = fact->text ? fact->text : gw_sched_outcome_name(fact->detail);
    bool here =
        strncmp(why, "on ", 3) == 0; /* the sentence is "failed on a" or "failed: rank 0 on a" */
    bool preempted = fact->detail == GW_OUTCOME_PREEMPTED;
    if (fact->detail == 0)
        gw_text_say(text, "given back by its worker before it began");
    else
        gw_text_say(text, "attempt %u %s%s %s", fact->try_number,
                    fact->number ? "did not begin"
                    : preempted  ? "ended"
                                 : "failed",
                    here                         ? ""
                    : preempted && !fact->number ? ","
                                                 : ":",
                    why);
}

/* Describes the loss of a checkpoint. For a command the scheduler does not know the step. */
static void tell_checkpoint_lost(const struct gw_logged *fact, struct gw_text *text)
{
    if (fact->detail == GW_LOGGED_LOST_UNSEEN) {
        gw_text_say(text,
                    "%s, where its rank 0 ran, is lost, and no checkpoint of it was seen: if hosts "
                    "do not share the checkpoint folder, it RESTARTS FROM STEP 0",
                    fact->text);
        return;
    }
    gw_text_say(text, "%s, which saved its checkpoint", fact->text);
    if (!fact->count)
        gw_text_say(text, " of step %llu", (unsigned long long)fact->number);
    gw_text_say(
        text,
        fact->detail == GW_LOGGED_LOST_FOLDER
            ? ", does not have it any more, and no worker has a copy: it RESTARTS FROM STEP 0"
            : ", is lost: if hosts do not share the checkpoint folder, it RESTARTS FROM STEP 0");
}

static void tell_gang(const struct gw_logged *fact, struct gw_text *text)
{
    unsigned long long number = fact->number;
    if (fact->kind == GW_LOGGED_GANG_PLACED)
        gw_text_say(text, "placed: %s", fact->text ? fact->text : "");
    else if (fact->kind == GW_LOGGED_PREEMPTED)
        gw_text_say(text,
                    fact->detail ? "attempt %u goes on: %s does not need its room any more"
                                 : "attempt %u is preempted by %s: it is told to save and to end, "
                                   "and continues later",
                    fact->try_number, fact->text);
    else if (fact->kind == GW_LOGGED_GROWS)
        gw_text_say(text, "there is room for %llu ranks: attempt %u, which has %u, was told to %s",
                    number, fact->try_number, fact->count,
                    fact->detail ? "end after its checkpoint, and restarts with more ranks"
                                 : "return at its next step, and continues with more ranks");
    else
        gw_text_say(text, "attempt %u starts: all %u ranks are ready", fact->try_number,
                    fact->count);
    if (fact->kind == GW_LOGGED_GANG_STARTED && fact->count < number)
        gw_text_say(text, ", fewer than %llu (--min-ranks)", number);
}

static void tell_at_worker(const struct gw_sched *sched, const struct gw_logged *fact,
                           struct gw_text *text)
{
    char said[GW_WORKER_NAME_MAX];
    const char *name = gw_sched_worker_name(sched, fact->worker, said);
    if (fact->kind == GW_LOGGED_STARTED)
        gw_text_say(text, "attempt %u started at %s", fact->try_number, name);
    else if (fact->kind == GW_LOGGED_RECALLED)
        gw_text_say(text, "recalled from %s, %s", name,
                    fact->detail ? "where it waits for other tasks: its slots are needed"
                                 : "where it is queued: another worker is idle");
    else if (fact->kind == GW_LOGGED_KILLED)
        gw_text_say(text, "%s is told to end it%s", name, fact->detail ? " at once" : "");
    else if (fact->kind == GW_LOGGED_REGAINED)
        gw_text_say(text, "%s reconnected and has its result", name);
    else if (!fact->worker)
        gw_text_say(
            text,
            "its result is lost: no worker reconnected with it after the scheduler restarted");
    else
        gw_text_say(text, "its result was lost with %s", name);
}

/* Describes attempts that a worker reported after a restart of the scheduler and that the scheduler
 * adopted. fact->number is the last rank if the fact covers several ranks, else 0. */
static void tell_adopted(const struct gw_sched *sched, const struct gw_logged *fact,
                         struct gw_text *text)
{
    bool several = fact->number > 0;
    gw_text_say(text, "attempt %u", fact->try_number);
    if (several)
        gw_text_say(text, ": ranks %u to %u", fact->count - 1, (unsigned)fact->number);
    else if (fact->count)
        gw_text_say(text, ": rank %u", fact->count - 1);
    gw_text_say(text, " %s at ", fact->detail ? "ended" : several ? "still run" : "still runs");
    say_worker(sched, text, fact->worker);
    gw_text_say(text, " after the restart of the scheduler: %s taken over",
                several ? "they are" : "it is");
}

static void tell_again(const struct gw_logged *fact, struct gw_text *text)
{
    static const char *const whys[] = {
        "it runs again: its result is needed, and gone",
        "it runs again: its user asked for that",
        "it runs again, for a task that is retried",
    };
    gw_text_say(text, "%s", whys[fact->detail < 3 ? fact->detail : 0]);
}

/* Fixed texts of facts that need no details. NULL: the text of the fact itself is shown. */
static const char *const plain[] = {
    [GW_LOGGED_READY] = "ready to run",
    [GW_LOGGED_RELEASED] = "its result was released: nothing holds or needs it",
    [GW_LOGGED_UNNEEDED] = "it need not run again: nothing needs its result any more",
    [GW_LOGGED_OPENED] = "the jobs that its job waited for have ended",
    [GW_LOGGED_CHECKPOINT] = NULL,
};

/* Describes a fact in words. */
static void tell_fact(const struct gw_sched *sched, const struct gw_logged *fact, char *to,
                      size_t bytes)
{
    struct gw_text text = {to, bytes, 0};
    *to = '\0';
    switch (fact->kind) {
    case GW_LOGGED_PLACED:
        tell_placed(sched, fact, &text);
        break;
    case GW_LOGGED_ADOPTED:
        tell_adopted(sched, fact, &text);
        break;
    case GW_LOGGED_STARTED:
    case GW_LOGGED_RECALLED:
    case GW_LOGGED_KILLED:
    case GW_LOGGED_LOST:
    case GW_LOGGED_REGAINED:
        tell_at_worker(sched, fact, &text);
        break;
    case GW_LOGGED_GANG_PLACED:
    case GW_LOGGED_GANG_STARTED:
    case GW_LOGGED_GROWS:
    case GW_LOGGED_PREEMPTED:
        tell_gang(fact, &text);
        break;
    case GW_LOGGED_CHECKPOINT_LOST:
        tell_checkpoint_lost(fact, &text);
        break;
    case GW_LOGGED_BLOCKED:
        gw_text_say(&text,
                    fact->detail ? "continues" : "waits for other tasks; its slots are yielded");
        break;
    case GW_LOGGED_TRY_ENDED:
        tell_attempt_outcome(fact, &text);
        break;
    case GW_LOGGED_DELAYED:
        gw_text_say(&text, "waits ");
        say_duration(&text, fact->number);
        gw_text_say(&text, " before attempt %u", fact->try_number + 1);
        break;
    case GW_LOGGED_DONE:
        tell_done(sched, fact, &text);
        break;
    case GW_LOGGED_FAILED:
        gw_text_say(&text, "failed%s%s",
                    fact->detail ? " without running: a task that it depends on failed"
                    : fact->text ? ": "
                                 : ": no attempt is left",
                    fact->text ? fact->text : "");
        break;
    case GW_LOGGED_CANCELLED:
        gw_text_say(&text, "cancelled%s",
                    fact->detail ? " without running: a task that it depends on was cancelled"
                                 : "");
        break;
    case GW_LOGGED_CANCEL:
        tell_cancel(fact, &text);
        break;
    case GW_LOGGED_AGAIN:
        tell_again(fact, &text);
        break;
    case GW_LOGGED_PAUSED:
        gw_text_say(&text, "its job was %s by %s", fact->detail ? "paused" : "resumed", fact->text);
        break;
    case GW_LOGGED_STOPPED:
        gw_text_say(&text, "attempt %u was %s", fact->try_number, fact->text);
        break;
    case GW_LOGGED_ACTOR:
        gw_text_say(&text, "as an actor it is %s", gw_sm_name(&gw_sched_actor_sm, fact->detail));
        break;
    default:
        gw_text_say(&text, "%s", plain[fact->kind] ? plain[fact->kind] : fact->text);
    }
}

/* -- Answer ------------------------------------------------------------------------------------ */

struct telling {
    const struct gw_sched *sched;
    struct gw_job *job;
    bool names; /* name the task in each row: the answer covers all tasks of the job */
    struct gw_value *list;
};

static void set(struct gw_value *dict, const char *key, struct gw_value *value)
{
    GW_MUST(gw_dict_set(dict, key, value));
}

/* Appends a row to the answer. at_ns is wall-clock time, or 0 if the time is not known. */
static struct gw_value *push(const struct telling *telling, uint64_t at_ns, const char *what,
                             const char *text)
{
    struct gw_value *dict = gw_dict();
    if (at_ns)
        set(dict, "at_ns", gw_i64((int64_t)at_ns));
    set(dict, "what", gw_str(what));
    set(dict, "text", gw_str(text));
    GW_MUST(gw_list_push(telling->list, dict));
    return dict;
}

static uint64_t wall_of(const struct gw_sched *sched, uint64_t at_ns)
{
    return sched->wall_ns - (sched->now_ns - at_ns);
}

static void push_fact(const struct telling *telling, const struct gw_logged *fact)
{
    static const char *const names[] = {
#define NAME(name, text) [GW_LOGGED_##name] = text,
        GW_LOGGED_KINDS(NAME)
#undef NAME
    };
    char text[512], label[128];
    tell_fact(telling->sched, fact, text, sizeof text);
    struct gw_value *dict =
        push(telling, wall_of(telling->sched, fact->at_ns), names[fact->kind], text);
    if (fact->index != GW_INDEX_ALL && telling->names) {
        gw_sched_task_label(telling->job,
                            gw_sched_row_live(telling->job, fact->index) ? fact->index : 0, label,
                            sizeof label);
        set(dict, "name", gw_str(label));
    }
    if (fact->index != GW_INDEX_ALL)
        set(dict, "index", gw_i64(fact->index));
    if (fact->worker)
        set(dict, "worker", gw_i64(fact->worker));
    if (fact->try_number)
        set(dict, "attempt", gw_i64(fact->try_number));
    if (fact->kind == GW_LOGGED_DONE) {
        set(dict, "bytes", gw_i64((int64_t)fact->number));
        set(dict, "run_ns", gw_i64((int64_t)fact->run_ns));
    }
}

#define MOMENT_NS UINT64_C(1000000)

struct found {
    const struct gw_logged *fact;
    uint64_t number;
};

static int by_time(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->fact->at_ns != y->fact->at_ns)
        return x->fact->at_ns < y->fact->at_ns ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Merges facts about consecutive ranks of a gang that were adopted at the same worker into one
 * fact. */
static struct gw_logged merged(const struct found *found, size_t count, size_t *at)
{
    struct gw_logged fact = *found[*at].fact;
    for (; fact.kind == GW_LOGGED_ADOPTED && fact.count && *at + 1 < count; ++*at) {
        const struct gw_logged *next = found[*at + 1].fact;
        if (next->kind != fact.kind || next->index != fact.index || next->worker != fact.worker ||
            next->try_number != fact.try_number || next->detail != fact.detail ||
            next->count != found[*at].fact->count + 1)
            break;
        fact.number = next->count - 1;
    }
    return fact;
}

/* Appends the latest facts about a row (or about the whole job if `row` is negative) to the answer.
 * Returns the number of older facts that were left out. */
static size_t push_facts(const struct telling *telling, int64_t row)
{
    const struct gw_event_log *event_log = &telling->sched->event_log;
    GW_ARRAY(struct found) found = {0};
    for (uint64_t n = event_log->told - event_log->facts.count + 1; n <= event_log->told; n++) {
        const struct gw_logged *fact = &event_log->facts.items[(n - 1) % GW_LOGGED_FACTS_MAX];
        if (fact->job == telling->job->id &&
            (row < 0 || fact->index == row || fact->index == GW_INDEX_ALL))
            GW_MUST(gw_array_push(&found, (struct found){fact, n}));
    }
    if (found.count)
        qsort(found.items, found.count, sizeof *found.items, by_time);
    size_t first = found.count > GW_LOGGED_ANSWER_MAX ? found.count - GW_LOGGED_ANSWER_MAX : 0;
    /* The row "ended" of a job is placed by time. Results are released after the end of the job.
     * Clocks can be adjusted slightly, so a fact within MOMENT_NS of the end still counts as before
     * the end. */
    bool ends = row < 0 && telling->job->state == GW_JOB_ENDED;
    uint64_t end_ns = telling->job->ended_wall_ns;
    for (size_t i = first; i < found.count; i++) {
        const struct gw_logged fact = merged(found.items, found.count, &i);
        if (ends && wall_of(telling->sched, fact.at_ns) > end_ns + MOMENT_NS) {
            push(telling, end_ns, "ended", "the job has ended");
            ends = false;
        }
        push_fact(telling, &fact);
    }
    if (ends)
        push(telling, end_ns, "ended", "the job has ended");
    gw_array_deinit(&found);
    return first;
}

/* Returns the time when the first part of the job arrived. It is before all facts about the job. */
static uint64_t submitted_ns(const struct telling *telling)
{
    const struct gw_job *job = telling->job;
    return job->opened_ns ? wall_of(telling->sched, job->opened_ns) : job->submitted_wall_ns;
}

static void push_submitted(const struct telling *telling)
{
    const struct gw_job *job = telling->job;
    char words[512];
    struct gw_text text = {words, sizeof words, 0};
    gw_text_say(&text, "submitted by %s as job %llu (%s)%s", job->user, (unsigned long long)job->id,
                job->name ? job->name : "", job->detached ? ", detached" : "");
    push(telling, submitted_ns(telling), "submitted", words);
}

/* Describes the tasks that a task depends on. Appends nothing if the task has no dependencies. */
static void push_inputs(const struct telling *telling, uint32_t row)
{
    struct gw_job *job = telling->job;
    const struct gw_tasks *tasks = &job->tasks;
    char words[640], label[128];
    struct gw_text text = {words, sizeof words, 0};
    uint32_t first = tasks->deps_at[row], end = gw_sched_deps_end(tasks, row);
    if (first == end || tasks->edges_gone)
        return;
    gw_text_say(&text, "depends on %u task%s: ", end - first, end - first == 1 ? "" : "s");
    for (uint32_t e = first; e < end && e < first + 3; e++) {
        struct gw_row dep;
        gw_text_say(&text, e > first ? ", " : "");
        if (!gw_sched_dep(telling->sched, job, e, &dep)) {
            gw_text_say(&text, "task %u of a job that was forgotten",
                        gw_sched_edge(tasks, e).index);
            continue;
        }
        gw_sched_task_label(dep.job, gw_sched_row_live(dep.job, dep.index) ? dep.index : 0, label,
                            sizeof label);
        gw_text_say(&text, "%s (task %u", label, dep.index);
        if (dep.job != job)
            gw_text_say(&text, " of job %llu", (unsigned long long)dep.job->id);
        gw_text_say(&text, ")");
    }
    if (end - first > 3)
        gw_text_say(&text, " and %u more", end - first - 3);
    push(telling, submitted_ns(telling), "inputs", words);
}

static bool has(const struct telling *telling, const char *what, uint16_t try_number)
{
    for (size_t i = gw_value_count(telling->list); i-- > 0;) {
        const struct gw_value *dict = gw_value_at(telling->list, i);
        const char *text = "";
        int64_t attempt = 0;
        (void)gw_value_get_str(gw_value_find(dict, "what"), &text, NULL);
        if (gw_value_find(dict, "attempt"))
            (void)gw_value_get_i64(gw_value_find(dict, "attempt"), &attempt, NULL);
        if (strcmp(text, what) == 0 && (try_number == 0 || attempt == try_number))
            return true;
    }
    return false;
}

/* Describes the running attempt of a task if the event log no longer holds the fact of its
 * placement. */
static void push_live(const struct telling *telling, uint32_t row)
{
    const struct gw_sched *sched = telling->sched;
    const struct gw_tasks *tasks = &telling->job->tasks;
    uint32_t slot = gw_sched_attempt_find(sched, tasks->attempt[row]);
    uint16_t tries = tasks->charges[row].tries;
    if (slot == GW_NO_INDEX || has(telling, "placed", tries) || has(telling, "taken over", tries))
        return;
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_logged fact = {.kind = GW_LOGGED_PLACED,
                             .at_ns = attempt->placed_ns,
                             .index = row,
                             .worker = attempt->worker->id,
                             .try_number = tries,
                             .detail = attempt->why,
                             .number = attempt->near_bytes};
    push_fact(telling, &fact);
    fact.kind = GW_LOGGED_STARTED;
    fact.at_ns = attempt->started_ns;
    if (attempt->started_ns)
        push_fact(telling, &fact);
}

/* Describes how a task ended if the event log no longer holds the fact of the end. */
static void push_end(const struct telling *telling, uint32_t row)
{
    const struct gw_job *job = telling->job;
    bool live = gw_sched_row_live(job, row);
    uint32_t state = live ? job->tasks.state[row] : gw_sched_range_row_state(job, row);
    const struct gw_failure *failure = gw_sched_task_failure_of(job, row);
    const char *name =
        gw_sm_name(&gw_sched_task_sm, state == GW_TASK_RELEASED ? GW_TASK_DONE : state);
    bool ended = state == GW_TASK_DONE || state == GW_TASK_RELEASED || state == GW_TASK_FAILED ||
                 state == GW_TASK_CANCELLED;
    if (ended && !has(telling, name, 0))
        push(telling, 0, name, failure && *failure->text ? failure->text : name);
    else if (state == GW_TASK_FAILED && live && failure)
        push(telling, 0, "cause", failure->text);
    if (live && job->progress && job->progress->index == row) {
        char words[256];
        struct gw_text text = {words, sizeof words, 0};
        gw_text_say(&text, "its last progress report: %.0f%% %s", job->progress->fraction * 100,
                    job->progress->text);
        push(telling, 0, "progress", words);
    }
}

/* Says which facts may be missing from the answer. Writes nothing if the answer is complete. */
static void say_note(const struct gw_sched *sched, const struct gw_job *job, size_t left,
                     struct gw_text *text)
{
    const struct gw_event_log *event_log = &sched->event_log;
    uint64_t dropped = event_log->told - event_log->facts.count;
    if (!job->opened_ns)
        gw_text_say(text, "Events before the restart of the scheduler are not known. ");
    if (dropped > job->log_from)
        gw_text_say(text,
                    "Older events have been dropped: the latest %u events of all jobs are kept. ",
                    GW_LOGGED_FACTS_MAX);
    if (left)
        gw_text_say(text, "These are the latest %u of %zu events. ", GW_LOGGED_ANSWER_MAX,
                    left + GW_LOGGED_ANSWER_MAX);
    if (!gw_sched_event_log_whole(job))
        gw_text_say(text,
                    "For a job of more than %u tasks%s, only unusual events are kept, and events "
                    "of tasks that ran for 100 ms or longer. ",
                    GW_LOGGED_TASKS_MAX, job->calls_of ? " (or of calls)" : "");
    if (job->log_unusual > GW_LOGGED_UNUSUAL_MAX)
        gw_text_say(text, "Of these, only the first %u were kept. ", GW_LOGGED_UNUSUAL_MAX);
    while (text->used > 0 && text->used < text->size && text->to[text->used - 1] == ' ')
        text->to[--text->used] = '\0';
}

struct gw_value *gw_sched_history_query(const struct gw_sched *sched, struct gw_job *job,
                                        int64_t row)
{
    char label[128] = "", note[512] = "";
    struct gw_text text = {note, sizeof note, 0};
    bool whole = row < 0 && job->tasks.count != 1;
    if (row < 0 && !whole)
        row = 0;
    const struct telling telling = {sched, job, whole, gw_list()};
    struct gw_value *dict = gw_dict();
    push_submitted(&telling);
    bool live = !whole && gw_sched_row_live(job, (uint32_t)row);
    if (live)
        push_inputs(&telling, (uint32_t)row);
    size_t left = push_facts(&telling, row);
    if (live)
        push_live(&telling, (uint32_t)row);
    if (!whole)
        push_end(&telling, (uint32_t)row);
    say_note(sched, job, left, &text);
    if (!whole && job->tasks.count)
        gw_sched_task_label(job, live ? (uint32_t)row : 0, label, sizeof label);
    set(dict, "job", gw_i64((int64_t)job->id));
    set(dict, "name", gw_str(whole ? (job->name ? job->name : "") : label));
    if (!whole)
        set(dict, "index", gw_i64(row));
    set(dict, "tries", gw_i64(live ? job->tasks.charges[row].tries : 0));
    set(dict, "submitted_ns", gw_i64((int64_t)submitted_ns(&telling)));
    set(dict, "note", gw_str(note));
    set(dict, "events", telling.list);
    return dict;
}
