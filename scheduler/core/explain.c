/* Explaining: why a task is where it is, in words. */
#include "scheduler/core/query.h"

#include "scheduler/core/actor.h"
#include "scheduler/core/attempt.h"
#include "scheduler/core/away.h"
#include "scheduler/core/checkpoint.h"
#include "scheduler/core/chunk.h"
#include "scheduler/core/cooling.h"
#include "scheduler/core/delay.h"
#include "scheduler/core/elastic.h"
#include "scheduler/core/gang_try.h"
#include "scheduler/core/gate.h"
#include "scheduler/core/gpu.h"
#include "scheduler/core/hang.h"
#include "scheduler/core/hold.h"
#include "scheduler/core/inside.h"
#include "scheduler/core/memory.h"
#include "scheduler/core/need.h"
#include "scheduler/core/placement.h"
#include "scheduler/core/pure.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/range.h"
#include "scheduler/core/regain.h"
#include "scheduler/core/reservation.h"
#include "scheduler/core/running.h"
#include "scheduler/core/story.h"
#include "scheduler/core/task.h"
#include "scheduler/core/worker.h"
#include "scheduler/core/worker_name.h"

#include "graph/base/text.h"

#include <stdio.h>
#include <string.h>

enum { CAUSES_MAX = 1000 /* tasks between one that never ran and the first that failed */ };

static void say_ago(const struct gw_sched *sched, uint64_t at_ns, struct gw_text *text)
{
    double passed_s = (double)(sched->now_ns - at_ns) / 1e9;
    if (passed_s < 120)
        gw_text_say(text, "%.1f s ago", passed_s);
    else if (passed_s < 2 * 3600)
        gw_text_say(text, "%.0f minutes ago", passed_s / 60);
    else
        gw_text_say(text, "%.0f hours ago", passed_s / 3600);
}

/* Which jobs hold slots, the largest first, three at most. */
static void say_who_holds(const struct gw_sched *sched, struct gw_text *text)
{
    const struct gw_job *said[3];
    int count = 0;
    while (count < 3) {
        const struct gw_job *best = NULL;
        for (const struct gw_job *job = sched->first_job; job; job = job->next) {
            bool known = job->placed == 0;
            for (int i = 0; i < count; i++)
                known = known || said[i] == job;
            if (!known && (!best || job->placed > best->placed))
                best = job;
        }
        if (!best)
            return;
        gw_text_say(text, "; job %llu (%s) has %u task%s at workers", (unsigned long long)best->id,
                    best->name ? best->name : "", best->placed, best->placed == 1 ? "" : "s");
        said[count++] = best;
    }
}

static void explain_no_worker(const struct gw_sched *sched, struct gw_text *text)
{
    if (!sched->lost_worker_ns) {
        gw_text_say(text, "no worker has registered yet");
        return;
    }
    gw_text_say(text, "no worker is left: %s, ", sched->lost_worker);
    say_ago(sched, sched->lost_worker_ns, text);
}

/* What each worker that could run it has free, three at most; only where slots are not all that
 * matters. */
static void say_room(const struct gw_sched *sched, const struct gw_shape *shape,
                     struct gw_text *text)
{
    uint32_t said = 0;
    bool stock = shape->need && shape->need->resources.count > 0;
    if (!stock && !shape->memory_bytes)
        return;
    for (size_t i = 0; i < sched->workers.count && said < 3; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || !gw_sched_worker_could(worker, shape))
            continue;
        char where[GW_WORKER_NAME_MAX], free[GW_TEXT_BYTES_ROOM], all[GW_TEXT_BYTES_ROOM];
        gw_text_say(text, "%s %s has %u of %u slots", said++ ? "," : ":",
                    gw_sched_worker_where(sched, worker->id, where), worker->slots_free,
                    worker->slots);
        if (shape->memory_bytes)
            gw_text_say(text, ", %s of %s", gw_text_bytes(worker->memory_free, free),
                        gw_text_bytes(worker->memory_bytes, all));
        for (uint32_t k = 0; stock && k < worker->stock_count; k++)
            for (uint32_t r = 0; r < shape->need->resources.count; r++)
                if (strcmp(worker->stock[k].name, shape->need->resources.items[r].name) == 0)
                    gw_text_say(text, ", %u of %u %s", worker->stock[k].free,
                                worker->stock[k].amount, worker->stock[k].name);
    }
}

/* What the next free slot would not change: memory is missing. */
static bool explain_memory(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                           struct gw_text *text)
{
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    uint64_t bytes = gw_sched_memory_expected(spec);
    const struct gw_worker *best = NULL;
    bool paused = true;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->leaves || !gw_sched_worker_could(worker, spec->shape))
            continue;
        paused = paused && !gw_sched_memory_lets(worker);
        if (!best || gw_sched_memory_free(worker) > gw_sched_memory_free(best))
            best = worker;
    }
    bool parked =
        spec->queue && (spec->queue->parked || spec->shape->parked.count == GW_PARKED_MAX);
    if (!best || (!paused && !parked))
        return false;
    char where[GW_WORKER_NAME_MAX];
    gw_text_say(text, "it waits for memory: ");
    if (bytes)
        gw_text_say(text, "tasks like it took %.2f GiB; ", (double)bytes / (1 << 30));
    gw_text_say(text, "%.2f GiB free below the line where %s pauses, which uses %.2f of %.2f GiB",
                (double)gw_sched_memory_free(best) / (1 << 30),
                gw_sched_worker_where(sched, best->id, where),
                (double)best->memory.used_bytes / (1 << 30),
                (double)best->memory_bytes / (1 << 30));
    if (best->memory_trouble)
        gw_text_say(text, "; results cannot go to disk there: %s", best->memory_trouble);
    return true;
}

/* Which workers take none of it at the moment, three at most of each kind. */
static void say_cooling(const struct gw_sched *sched, const struct gw_shape *shape, bool files,
                        struct gw_text *text)
{
    const struct gw_shape of = {.ranks = files ? 0 : shape->ranks, .files = files && shape->files};
    const char *first = files ? "; these workers could not lay files, and take no task with any:"
                              : "; a gang failed because of these workers, which take no ranks:";
    uint32_t said = 0;
    for (size_t i = 0; i < sched->workers.count && said < 3; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        uint64_t left_ns = worker && worker->state == GW_WORKER_READY
                               ? gw_sched_cooling_left_ns(sched, worker, &of)
                               : 0;
        if (left_ns)
            gw_text_say(text, "%s %s, for %.1f s more", said++ ? "," : first, worker->remote->name,
                        (double)left_ns / 1e9);
    }
}

static void say_paused(const struct gw_sched *sched, const struct gw_job *job, struct gw_text *text)
{
    const struct gw_story_fact *fact =
        gw_sched_story_last(sched, job, GW_INDEX_ALL, GW_STORY_PAUSED);
    gw_text_say(text, "its job is paused");
    if (fact && fact->text)
        gw_text_say(text, ", by %s, ", fact->text);
    if (fact)
        say_ago(sched, fact->at_ns, text);
    gw_text_say(text, " (`gangway resume %llu` lets it go on)", (unsigned long long)job->id);
}

static void say_elastic(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                        struct gw_text *text)
{
    char why[512];
    gw_sched_elastic_explain(sched, job, row, why, sizeof why);
    gw_text_say(text, "%s", why);
}

/* A preference that nothing can meet now is no error, but perhaps a name that was mistyped. */
static void say_preferred_gone(const struct gw_sched *sched, const struct gw_shape *shape,
                               struct gw_text *text)
{
    char gone[320];
    if (shape->need && shape->need->prefer &&
        gw_sched_need_gone(sched, shape->need, gone, sizeof gone))
        gw_text_say(text, "; no worker or host that is here is called %s, which it prefers", gone);
}

/* How many slots are free, of the workers that it asks for where it asks for some. */
static void say_slots(const struct gw_sched *sched, const struct gw_shape *shape,
                      struct gw_text *text)
{
    uint32_t all = 0, free = 0;
    bool some = false;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_READY)
            continue;
        if (shape->need && !gw_sched_need_allows(shape->need, worker)) {
            some = true;
            continue;
        }
        all += worker->slots;
        free += worker->slots_free;
    }
    gw_text_say(text, "; %u of %u slots %s free%s", free, all, free == 1 ? "is" : "are",
                some ? " there" : "");
}

/* Whether tasks of a job that are not at workers come before those of younger ones as urgent. */
static bool goes_first(const struct gw_job *job, int32_t priority)
{
    if (job->unfinished <= job->placed || gw_sched_job_rests(job) || job->actor || job->calls_of)
        return false;
    for (size_t i = 0; i < job->queues.count; i++)
        if (job->queues.items[i]->priority >= priority)
            return true;
    return false;
}

/* Slots that come free one by one go to older tasks that need no more than that: a larger one may
 * wait for all of those, and people take it for forgotten. */
static void say_older(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                      struct gw_text *text)
{
    const int32_t priority = job->specs.items[job->tasks.spec[row]].message.priority;
    const struct gw_job *oldest = NULL;
    uint64_t others = 0;
    for (const struct gw_job *older = sched->first_job; older && older != job; older = older->next)
        if (goes_first(older, priority)) {
            others += oldest != NULL;
            oldest = oldest ? oldest : older;
        }
    if (!oldest || priority == INT32_MAX || job->specs.items[job->tasks.spec[row]].shape->ranks > 0)
        return; /* gangs have what is kept for them */
    gw_text_say(text, "; older work goes first: job %llu", (unsigned long long)oldest->id);
    if (others > 0)
        gw_text_say(text, " and %llu other%s", (unsigned long long)others, others == 1 ? "" : "s");
    gw_text_say(text, " (what is submitted with --priority %d would not wait for that)",
                priority + 1);
}

static void say_reservation(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                            struct gw_text *text)
{
    char kept[640];
    gw_sched_reservation_explain(sched, job, row, kept, sizeof kept);
    gw_text_say(text, "%s", kept);
}

static void explain_ready(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                          struct gw_text *text)
{
    const struct gw_shape *shape = job->specs.items[job->tasks.spec[row]].shape;
    uint32_t gpus = gw_sched_shape_gpus(shape);
    char size[GW_TEXT_BYTES_ROOM];
    struct gw_error error;
    if (job->calls_of) {
        char why[320];
        gw_sched_actor_explain(job, row, why, sizeof why);
        gw_text_say(text, "%s", why);
        return;
    }
    if (job->paused) {
        say_paused(sched, job, text);
        return;
    }
    if (job->awaits) {
        char why[512];
        const char *may = !job->opened_ns             ? "may still run this"
                          : gpus || shape->gpu_if_any ? "may still run something on GPUs"
                                                      : "may still have what it takes";
        gw_sched_hold_explain(sched, may, why, sizeof why);
        gw_text_say(text, "%s", why);
        return;
    }
    if (sched->workers_ready == 0) {
        explain_no_worker(sched, text);
        return;
    }
    if (gw_sched_infeasible(sched, shape, &error) < 0) {
        gw_text_say(text, "%s", error.text);
        return;
    }
    char need[320] = "";
    if (shape->need && !shape->need->prefer &&
        gw_sched_need_gone(sched, shape->need, need, sizeof need))
        gw_text_say(text, "%s, which it asks for, is gone, and may come back; ", need);
    if (explain_memory(sched, job, row, text))
        return;
    char back[320];
    gw_sched_away_explain(sched, shape, back, sizeof back);
    if (shape->ranks > 0)
        gw_text_say(text, "a gang of %u needs %u free slots", shape->ranks,
                    shape->ranks * shape->slots);
    else
        gw_text_say(text, "it needs %u free slot%s", shape->slots, shape->slots == 1 ? "" : "s");
    if (job->tasks.flags[row] & GW_TASK_ALONE)
        gw_text_say(text,
                    " on a worker where nothing else runs (it was lost with its worker before)");
    need[0] = '\0';
    gw_sched_gpu_describe(shape, need, sizeof need);
    gw_text_say(text, "%s%s", need, gpus && shape->ranks ? " a rank" : "");
    if (shape->memory_bytes)
        gw_text_say(text, ", %s of memory%s", gw_text_bytes(shape->memory_bytes, size),
                    shape->ranks ? " a rank" : "");
    need[0] = '\0';
    gw_sched_need_describe(shape->need, need, sizeof need);
    gw_text_say(text, "%s", need);
    say_slots(sched, shape, text);
    need[0] = '\0';
    gw_sched_gpu_explain(sched, shape, need, sizeof need);
    gw_text_say(text, "%s", need);
    gw_text_say(text, "%s", back);
    say_room(sched, shape, text);
    say_cooling(sched, shape, false, text);
    say_cooling(sched, shape, true, text);
    say_preferred_gone(sched, shape, text);
    say_who_holds(sched, text);
    say_older(sched, job, row, text);
    say_elastic(sched, job, row, text);
    say_reservation(sched, job, row, text);
}

static void explain_delayed(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                            struct gw_text *text)
{
    const struct gw_msg_spec *spec = &job->specs.items[job->tasks.spec[row]].message;
    double left_s = (double)gw_sched_delay_left_ns(sched, job, row) / 1e9;
    uint32_t tries = job->tasks.charges[row].tries;
    gw_text_say(text, "it waits %.1f s before attempt %u", left_s, tries + 1);
    if (spec->retries > 0) /* those before it was retried by its user count for nothing */
        gw_text_say(text, " of %u", tries + 1 + spec->retries - job->tasks.charges[row].retries);
    if (job->tasks.charges[row].retries + job->tasks.charges[row].crashes == 0)
        gw_text_say(text, ": worker %u gave it back, which is short of memory",
                    job->tasks.worker[row]);
    if (job->tasks.waiting[row])
        gw_text_say(text, "; ");
}

static void explain_waiting(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                            struct gw_text *text)
{
    struct gw_tasks *tasks = &job->tasks;
    uint32_t waiting = tasks->waiting[row] - job->gated;
    struct gw_row original;
    if (gw_sched_alias_of(sched, job, row, &original)) {
        gw_text_say(text, "it is pure, and shares the result of task %u of job %llu, which is %s",
                    original.index, (unsigned long long)original.job->id,
                    gw_sm_name(&gw_sched_task_sm, original.job->tasks.state[original.index]));
        return;
    }
    if (tasks->flags[row] & GW_TASK_DELAYED)
        explain_delayed(sched, job, row, text);
    if (job->gated) {
        char jobs[512];
        gw_sched_gate_explain(sched, job, jobs, sizeof jobs);
        gw_text_say(text, "its job comes after %s%s", *jobs ? jobs : "others",
                    waiting ? "; " : ", not ended yet");
    }
    if ((job->gated || (tasks->flags[row] & GW_TASK_DELAYED)) && !waiting)
        return;
    gw_text_say(text, "it waits for %u task%s before it", waiting, waiting == 1 ? "" : "s");
    int said = 0;
    for (uint32_t e = tasks->deps_at[row]; e < gw_sched_deps_end(tasks, row) && said < 3; e++) {
        struct gw_row dep;
        char label[128];
        if (!gw_sched_dep(sched, job, e, &dep) || gw_sched_task_satisfied(dep.job, dep.index))
            continue;
        gw_sched_task_label(dep.job, dep.index, label, sizeof label);
        gw_text_say(text, "%s %s (task %u, %s)", said ? "," : ":", label, dep.index,
                    gw_sm_name(&gw_sched_task_sm, dep.job->tasks.state[dep.index]));
        said++;
    }
}

static void explain_gang(const struct gw_gang_try *gang, uint32_t tries, struct gw_text *text)
{
    gw_text_say(text, "its gang of %u is %s, attempt %u: %u rank%s started, %u %s not ended",
                gang->count, gw_sm_name(&gw_sched_gang_sm, gang->state), tries, gang->ready,
                gang->ready == 1 ? " has" : "s have", gang->live, gang->live == 1 ? "has" : "have");
    if (gang->state == GW_GANG_ENDING && gang->cause.text && *gang->cause.text)
        gw_text_say(text, "; it ends because of this: %s", gang->cause.text);
}

/* A prolog's shell becomes the program, of which no one here hears. */
static void explain_prolog(const struct gw_job *job, uint32_t row, struct gw_text *text)
{
    static const char name[] = GW_PROLOG_NAME;
    const struct gw_msg_spec *spec = &job->specs.items[job->tasks.spec[row]].message;
    const char word[] = {(char)(0xa0 | (sizeof name - 1))}; /* of MessagePack: so long a text */
    if (spec->kind != GW_SPEC_COMMAND)
        return;
    const uint8_t *words = spec->argv.data;
    for (size_t at = 0; at + sizeof name <= spec->argv.size; at++) {
        if (memcmp(words + at, word, 1) != 0 || memcmp(words + at + 1, name, sizeof name - 1) != 0)
            continue;
        gw_text_say(text, "; its prolog runs, or already the program behind it");
        return;
    }
}

/* A call that has begun is not ended: its actor would end with it. */
static void explain_cancelling(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                               struct gw_text *text)
{
    uint32_t slot = gw_sched_attempt_find(sched, job->tasks.attempt[row]);
    if (job->calls_of && slot != GW_NONE && sched->attempts.items[slot].started_ns)
        gw_text_say(text, "it was cancelled and has begun: as a call of an actor it goes on to its "
                          "end, and only its result is dropped; ");
    else
        gw_text_say(text, "it is being ended at its worker; ");
}

/* As `tasks` counts it: handed to its worker ahead of time, and not begun. */
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

static void explain_placed(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                           struct gw_text *text)
{
    const struct gw_gang_try *gang = gw_sched_gang_of(sched, job, row);
    char where[GW_WORKER_NAME_MAX];
    if (job->tasks.state[row] == GW_TASK_CANCELLING)
        explain_cancelling(sched, job, row, text);
    if (gang)
        explain_gang(gang, job->tasks.charges[row].tries, text);
    else
        gw_text_say(text, "it is at %s, attempt %u",
                    gw_sched_worker_where(sched, job->tasks.worker[row], where),
                    job->tasks.charges[row].tries);
    if (is_in_line(sched, job, row))
        gw_text_say(text, ", in line behind what runs there");
    gw_sched_gpu_explain_clearing(sched, job, row, text);
    say_preferred_gone(sched, job->specs.items[job->tasks.spec[row]].shape, text);
    if (gang)
        say_elastic(sched, job, row, text);
    if (gang && job->paused && gang->state == GW_GANG_GOING)
        gw_text_say(text, "; it is to pause, at its next step");
    if (!gang && job->paused) {
        gw_text_say(text, "; it goes on to its end: ");
        say_paused(sched, job, text);
    }
    uint32_t slot = gang ? GW_NONE : gw_sched_attempt_find(sched, job->tasks.attempt[row]);
    if (slot != GW_NONE && gw_sched_attempt_waits(&sched->attempts.items[slot]) &&
        job->specs.items[job->tasks.spec[row]].message.files.size)
        gw_text_say(text, "; it has not begun: its files are brought there first");
    if (gang ? gang->ready > 0 && gang->live > 0 : (job->tasks.flags[row] & GW_TASK_STARTED) != 0)
        explain_prolog(job, row, text);
    if (slot != GW_NONE)
        gw_sched_inside_explain(sched, &sched->attempts.items[slot], text);
    if (gang) {
        gw_sched_inside_explain_gang(sched, gang, text);
        gw_sched_hang_explain(gang, text);
        char saved[640];
        gw_sched_checkpoint_explain(sched, job, row, saved, sizeof saved);
        gw_text_say(text, "%s", saved);
    }
    if (job->tasks.state[row] == GW_TASK_HANDED)
        gw_text_say(text, ", behind %u task%s that it waits for", job->tasks.waiting[row],
                    job->tasks.waiting[row] == 1 ? "" : "s");
    if (job->progress && job->progress->index == row)
        gw_text_say(text, "; it says: %.0f%% %s", job->progress->fraction * 100,
                    job->progress->text);
    if (job->actor)
        gw_text_say(text, "; as an actor it is %s, and has %u call%s there",
                    gw_sm_name(&gw_sched_actor_sm, job->actor->state), job->actor->placed,
                    job->actor->placed == 1 ? "" : "s");
}

/* By whom, or what for, and when. */
static void explain_cancelled(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                              struct gw_text *text)
{
    const struct gw_story_fact *fact = gw_sched_story_last(sched, job, row, GW_STORY_CANCEL);
    const struct gw_story_fact *whole =
        gw_sched_story_last(sched, job, GW_INDEX_ALL, GW_STORY_CANCEL);
    if (!fact || (whole && whole->at_ns > fact->at_ns))
        fact = whole;
    gw_text_say(text, "cancelled");
    if (!fact)
        return;
    gw_text_say(text, " ");
    say_ago(sched, fact->at_ns, text);
    if (fact->detail == GW_KILL_SESSION)
        gw_text_say(text, ", because its client%s%s was gone", fact->text ? " " : "",
                    fact->text ? fact->text : "");
    else if (fact->text)
        gw_text_say(text, " by %s", fact->text);
    else
        gw_text_say(text, ", because nobody needed it any more");
}

/* The task before a row that ended badly, and so ended it; false: none is known any more. */
static bool find_cause(const struct gw_sched *sched, struct gw_row *row)
{
    const struct gw_tasks *tasks = &row->job->tasks;
    struct gw_row dep;
    if (tasks->edges_gone)
        return false;
    for (uint32_t e = tasks->deps_at[row->index]; e < gw_sched_deps_end(tasks, row->index); e++) {
        if (!gw_sched_dep(sched, row->job, e, &dep) || !gw_sched_row_live(dep.job, dep.index))
            continue;
        uint8_t state = dep.job->tasks.state[dep.index];
        if (state == GW_TASK_FAILED || state == GW_TASK_CANCELLED) {
            *row = dep;
            return true;
        }
    }
    return false;
}

/* It never ran: which task before it is to blame, and through which others. */
static void explain_dependent(const struct gw_sched *sched, struct gw_row row, struct gw_text *text)
{
    const struct gw_failure *failure = gw_sched_failure_of(row.job, row.index);
    bool cancelled = row.job->tasks.state[row.index] == GW_TASK_CANCELLED;
    int hops = 0;
    char label[128];
    gw_text_say(text, "it never ran, because a task before it %s",
                cancelled ? "was cancelled" : "failed");
    while (hops < CAUSES_MAX && find_cause(sched, &row) &&
           row.job->tasks.flags[row.index] & GW_TASK_DEPENDENT) {
        gw_sched_task_label(row.job, row.index, label, sizeof label);
        if (hops++ < 3)
            gw_text_say(text, "%s %s (task %u)", hops == 1 ? ", as did not" : ",", label,
                        row.index);
    }
    if (hops > 3)
        gw_text_say(text, " and %d more between", hops - 3);
    if (cancelled) {
        gw_sched_task_label(row.job, row.index, label, sizeof label);
        gw_text_say(text, ": %s (task %u of job %llu), ", label, row.index,
                    (unsigned long long)row.job->id);
        explain_cancelled(sched, row.job, row.index, text);
        return;
    }
    gw_text_say(text, ": %s", failure ? failure->text : "");
}

/* A text that names the task itself says so once. */
static void explain_ended(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                          struct gw_text *text)
{
    if (job->tasks.flags[row] & GW_TASK_DEPENDENT) {
        explain_dependent(sched, (struct gw_row){job, row}, text);
        return;
    }
    if (job->tasks.state[row] == GW_TASK_CANCELLED) {
        explain_cancelled(sched, job, row, text);
        return;
    }
    const struct gw_failure *failure = gw_sched_failure_of(job, row);
    const char *why = failure ? failure->text : "", *state;
    state = gw_sm_name(&gw_sched_task_sm, job->tasks.state[row]);
    size_t label = text->used < text->size && text->used > 2 ? text->used - 2 : 0; /* less ": " */
    if (label > 0 && strncmp(why, text->to, label) == 0)
        text->used = 0;
    if (*why && strcmp(why, state) != 0)
        gw_text_say(text, "%s: %s", state, why);
    else
        gw_text_say(text, "%s", state);
}

/* A task of a range without a row. */
static void explain_rowless(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                            struct gw_text *text)
{
    uint32_t state = gw_sched_range_row_state(job, row);
    const struct gw_failure *failure = gw_sched_failure_of(job, row);
    if (state == GW_TASK_WAITING && job->paused)
        say_paused(sched, job, text);
    else if (state == GW_TASK_WAITING)
        gw_text_say(text, "its turn has not come: the tasks before it come first");
    else if (failure && *failure->text)
        gw_text_say(text, "%s: %s", gw_sm_name(&gw_sched_task_sm, state), failure->text);
    else
        gw_text_say(text, "it is %s", gw_sm_name(&gw_sched_task_sm, state));
}

/* "37,123" */
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

void gw_sched_explain_range(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                            char *to, size_t text_bytes)
{
    struct gw_text text = {to, text_bytes, 0};
    char done[16], all[16], other[16];
    gw_text_say(&text, "%s (job %llu): %s of %s tasks are done", job->name,
                (unsigned long long)job->id, grouped(job->done, done),
                grouped(job->range->count, all));
    if (job->failed)
        gw_text_say(&text, ", %s failed", grouped(job->failed, other));
    if (job->cancelled_tasks)
        gw_text_say(&text, ", %s were cancelled", grouped(job->cancelled_tasks, other));
    if (job->placed)
        gw_text_say(&text, ", %s are at workers", grouped(job->placed, other));
    if (job->failed && job->first_failure)
        gw_text_say(&text, "; the first that failed: %s", job->first_failure->text);
    if (job->state == GW_JOB_ENDED)
        return;
    if (job->range->kept >= job->range->ahead)
        gw_text_say(&text, ", and it waits for its client to take results");
    if (job->placed > 0 || !gw_sched_row_live(job, row) || text.used + 2 >= text.size)
        return;
    gw_text_say(&text, "; ");
    gw_sched_explain(sched, job, row, to + text.used, text_bytes - text.used);
}

static void explain_awaited(const struct gw_sched *sched, struct gw_text *text)
{
    char why[512];
    gw_sched_hold_explain(sched, "may still have its result", why, sizeof why);
    gw_text_say(text, "; %s", why);
}

/* The task that ended a job badly: the first cause, or one that stands for it; GW_NONE: none. */
static uint32_t first_bad(const struct gw_job *job, uint32_t *ran)
{
    uint32_t best = GW_NONE, best_rank = 0;
    uint8_t wanted = job->failed ? GW_TASK_FAILED : GW_TASK_CANCELLED;
    for (uint32_t row = 0; row < job->tasks.count; row++) {
        bool dependent = job->tasks.flags[row] & GW_TASK_DEPENDENT;
        if (job->tasks.state[row] != wanted)
            continue;
        bool first = gw_sched_failure_of(job, row) == job->first_failure;
        uint32_t rank = dependent ? 1 : first ? 3 : 2;
        *ran += !dependent;
        if (rank > best_rank) {
            best_rank = rank;
            best = row;
        }
    }
    return best;
}

void gw_sched_explain_job(const struct gw_sched *sched, struct gw_job *job, char *to,
                          size_t text_bytes)
{
    struct gw_text text = {to, text_bytes, 0};
    char bad[16], all[16], why[GW_ERROR_TEXT_MAX];
    uint32_t ran = 0, row = first_bad(job, &ran);
    const char *end = job->failed ? "failed" : "were cancelled";
    if (row == GW_NONE) {
        gw_text_say(&text, "%s (job %llu): all %s tasks are done", job->name ? job->name : "",
                    (unsigned long long)job->id, grouped(job->tasks.count, all));
        return;
    }
    gw_text_say(&text, "%s (job %llu): %s of %s tasks %s", job->name ? job->name : "",
                (unsigned long long)job->id,
                grouped(job->failed ? job->failed : job->cancelled_tasks, bad),
                grouped(job->tasks.count, all), end);
    if (job->failed > ran)
        gw_text_say(&text, ", %s of them without running, because of others",
                    grouped(job->failed - ran, bad));
    gw_sched_explain(sched, job, row, why, sizeof why);
    bool twice = strncmp(why, "failed: ", 8) == 0; /* and names the task */
    gw_text_say(&text, "; %s: %s", ran > 1 ? "the first" : "the cause", why + (twice ? 8 : 0));
}

void gw_sched_explain(const struct gw_sched *sched, struct gw_job *job, uint32_t row, char *to,
                      size_t text_bytes)
{
    struct gw_text text = {to, text_bytes, 0};
    char label[128];
    gw_sched_task_label(job, gw_sched_row_live(job, row) ? row : 0, label, sizeof label);
    gw_text_say(&text, "%s (task %u of job %llu): ", label, row, (unsigned long long)job->id);
    if (!gw_sched_row_live(job, row)) {
        explain_rowless(sched, job, row, &text);
        return;
    }
    switch (job->tasks.state[row]) {
    case GW_TASK_WAITING:
        explain_waiting(sched, job, row, &text);
        break;
    case GW_TASK_READY:
        explain_ready(sched, job, row, &text);
        break;
    case GW_TASK_PLACED:
    case GW_TASK_HANDED:
    case GW_TASK_CANCELLING:
        explain_placed(sched, job, row, &text);
        break;
    case GW_TASK_DONE:
    case GW_TASK_RELEASED:
        gw_text_say(&text, "it is done");
        if (gw_sched_regain_awaits(sched, job, row))
            explain_awaited(sched, &text);
        break;
    default:
        explain_ended(sched, job, row, &text);
    }
    const char *annotations = job->specs.items[job->tasks.spec[row]].message.annotations;
    if (*annotations)
        gw_text_say(&text, " (%s)", annotations);
}
