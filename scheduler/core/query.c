/* Queries.
 *
 * Answers are dicts and lists of plain values (PROTOCOL.md names the keys). Listings are cut at a
 * named number of rows, newest jobs first, and say so with "truncated". */
#include "scheduler/core/query.h"

#include "scheduler/core/actor.h"
#include "scheduler/core/annotation.h"
#include "scheduler/core/checkpoint.h"
#include "scheduler/core/cooling.h"
#include "scheduler/core/explain.h"
#include "scheduler/core/gpu.h"
#include "scheduler/core/gpu_twin.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_rare.h"
#include "scheduler/core/outbox.h"
#include "scheduler/core/outline.h"
#include "scheduler/core/place.h"
#include "scheduler/core/range.h"
#include "scheduler/core/running.h"
#include "scheduler/core/share.h"
#include "scheduler/core/story.h"
#include "scheduler/core/sync.h"
#include "scheduler/core/task.h"

#include "graph/wire/codec.h"
#include "graph/wire/frame.h"

#include <stdio.h>
#include <string.h>

enum { ANSWER_BYTES_MAX = GW_FRAME_BYTES_MAX - 4096 };

static void set(struct gw_value *dict, const char *key, struct gw_value *value)
{
    GW_MUST(gw_dict_set(dict, key, value));
}

static void set_u64(struct gw_value *dict, const char *key, uint64_t x)
{
    set(dict, key, gw_i64((int64_t)x));
}

static const char *job_state(const struct gw_sched *sched, const struct gw_job *job,
                             uint32_t running)
{
    if (job->state == GW_JOB_OPEN)
        return "open";
    if (!gw_sched_job_shown_ended(sched, job) && job->paused)
        return job->placed > 0 ? "pausing" : "paused";
    if (!gw_sched_job_shown_ended(sched, job))
        return running > 0 ? "running" : "queued";
    if (job->failed > 0)
        return "failed";
    return job->cancelled_tasks > 0 ? "cancelled" : "done";
}

/* -- One job -------------------------------------------------------------------------------------
 */

/* Those that the gang of a job with one task has, or had; else as many as were asked for. */
static uint32_t ranks_of(const struct gw_job *job)
{
    uint32_t most = 0;
    struct gw_map last;
    if (job->tasks.count == 1 && gw_sched_row_live(job, 0)) {
        gw_sched_places_last(job, &last);
        most = gw_sched_place_ranks(job, 0, &last);
        gw_map_deinit(&last);
    }
    if (most)
        return most;
    for (size_t i = 0; i < job->specs.count; i++)
        if (job->specs.items[i].message.ranks > most)
            most = job->specs.items[i].message.ranks;
    return most;
}

/* What `wait` exits with, too. */
static int32_t exit_code_of(const struct gw_failure *failure)
{
    const struct gw_error error = {.code = failure->code};
    return failure->exit_code ? failure->exit_code : gw_error_exit_code(&error);
}

static struct gw_value *describe_progress(const struct gw_progress *progress)
{
    char shown[sizeof progress->text + 8];
    struct gw_value *dict = gw_dict();
    (void)snprintf(shown, sizeof shown, "%.0f%%%s%s", progress->fraction * 100,
                   *progress->text ? " " : "", progress->text);
    set_u64(dict, "index", progress->index);
    set(dict, "fraction", gw_f64(progress->fraction));
    set(dict, "text", gw_str(progress->text));
    set(dict, "shown", gw_str(shown));
    return dict;
}

static struct gw_value *describe_job(const struct gw_sched *sched, const struct gw_job *job,
                                     const struct gw_running *runs)
{
    struct gw_value *dict = gw_dict();
    const uint32_t running = gw_running_job(runs, job);
    set_u64(dict, "id", job->id);
    set(dict, "name", gw_str(job->name ? job->name : ""));
    set(dict, "state", gw_str(job_state(sched, job, running)));
    set(dict, "session", gw_str(job->user));
    set(dict, "detached", gw_bool(job->detached));
    set_u64(dict, "depth", job->depth);
    set_u64(dict, "tasks", gw_sched_rows_in_all(job));
    set_u64(dict, "done", job->done);
    set_u64(dict, "failed", job->failed);
    set_u64(dict, "cancelled", job->cancelled_tasks);
    set_u64(dict, "running", running);
    set_u64(dict, "placed", job->placed);
    set_u64(dict, "shared", job->aliases);
    set_u64(dict, "ranks", ranks_of(job));
    if (job->tasks.count == 1 && gw_sched_row_live(job, 0))
        set_u64(dict, "tries", job->tasks.charges[0].tries);
    set_u64(dict, "submitted_ns", job->submitted_wall_ns);
    set_u64(dict, "ended_ns", gw_sched_job_shown_ended(sched, job) ? job->ended_wall_ns : 0);
    const struct gw_job_rare *rare = gw_job_rare(job);
    if (rare->metric_name) {
        struct gw_value *metric = gw_dict();
        set(metric, "step", gw_i64(rare->metric_step));
        set(metric, "name", gw_str(rare->metric_name));
        set(metric, "value", gw_f64(rare->metric_value));
        set(dict, "metric", metric);
    }
    if (job->progress)
        set(dict, "progress", describe_progress(job->progress));
    set(dict, "annotations", gw_sched_annotations(job, 0, (uint32_t)job->specs.count));
    if (job->first_failure && gw_sched_job_shown_ended(sched, job)) {
        set(dict, "code", gw_i64(job->first_failure->code));
        set(dict, "exit_code", gw_i64(exit_code_of(job->first_failure)));
        set(dict, "text", gw_str(job->first_failure->text));
    }
    return dict;
}

/* As people say it, and as `jobs` counts it: at a worker it runs, or is in line there. */
static const char *shown_state(uint8_t state, bool runs)
{
    return state != GW_TASK_PLACED ? gw_sm_name(&gw_sched_task_sm, state)
           : runs                  ? "running"
                                   : "queued";
}

static bool is_called(uint8_t state, bool runs, const char *word)
{
    return strcmp(word, gw_sm_name(&gw_sched_task_sm, state)) == 0 ||
           strcmp(word, shown_state(state, runs)) == 0 ||
           (state == GW_TASK_HANDED && strcmp(word, "handed") == 0);
}

static struct gw_value *describe_task(const struct gw_sched *sched, const struct gw_job *job,
                                      uint32_t row, const struct gw_map *last, bool runs)
{
    const struct gw_tasks *tasks = &job->tasks;
    struct gw_value *dict = gw_dict();
    char label[256];
    gw_sched_task_label(job, row, label, sizeof label);
    uint8_t state = tasks->state[row];
    set_u64(dict, "index", row);
    set(dict, "name", gw_str(label));
    state = state == GW_TASK_RELEASED ? GW_TASK_DONE : state;
    set(dict, "state", gw_str(gw_sm_name(&gw_sched_task_sm, state)));
    set(dict, "shown", gw_str(shown_state(state, runs)));
    set_u64(dict, "tries", tasks->charges[row].tries);
    set_u64(dict, "attempt", tasks->attempt[row]);
    char where[256] = "";
    struct gw_text text = {where, sizeof where, 0};
    set_u64(dict, "worker", gw_sched_place_tell(sched, job, row, last, &text));
    set(dict, "where", gw_str(where));
    set_u64(dict, "ranks", job->specs.items[tasks->spec[row]].message.ranks);
    if (gw_sched_place_ranks(job, row, last))
        set_u64(dict, "world_size", gw_sched_place_ranks(job, row, last));
    set(dict, "annotations", gw_sched_annotations(job, tasks->spec[row], 1));
    const struct gw_checkpointed *saved = gw_sched_checkpoint_of(job, row);
    if (saved && saved->attempt)
        set(dict, "checkpoint_step", gw_i64(saved->step));
    const struct gw_failure *failure = gw_sched_failure_of(job, row);
    if (failure) {
        set(dict, "code",
            gw_i64(tasks->flags[row] & GW_TASK_DEPENDENT ? GW_EDEPENDENCY : failure->code));
        set(dict, "exit_code", gw_i64(exit_code_of(failure)));
        set(dict, "text", gw_str(failure->text));
    }
    return dict;
}

/* -- Listings ------------------------------------------------------------------------------------
 */

static struct gw_value *query_status(const struct gw_sched *sched)
{
    struct gw_value *dict = gw_dict(), *tasks = gw_dict(), *jobs = gw_dict();
    uint64_t waiting = 0, running = 0, done = 0, failed = 0, cancelled = 0, running_jobs = 0;
    uint64_t values = 0;
    struct gw_running runs;
    gw_running_init(&runs, sched);
    for (const struct gw_job *job = sched->first_job; job; job = job->next) {
        if (gw_sched_job_is_value(job)) {
            values++;
            continue;
        }
        const uint32_t of_job = gw_running_job(&runs, job);
        waiting += job->unfinished - of_job;
        running += of_job;
        done += job->done;
        failed += job->failed;
        cancelled += job->cancelled_tasks;
        running_jobs += !gw_sched_job_shown_ended(sched, job);
    }
    gw_running_deinit(&runs);
    set(dict, "version", gw_str(GANGWAY_VERSION));
    set_u64(dict, "term", sched->term);
    set_u64(dict, "uptime_ns", sched->now_ns - sched->start_ns);
    set(dict, "state_dir", gw_str(sched->options.state_dir));
    if (sched->options.address)
        set(dict, "address", gw_str(sched->options.address));
    set_u64(dict, "workers", sched->workers_ready);
    set_u64(dict, "sessions", sched->session_count);
    set_u64(dict, "slots", sched->slots);
    set_u64(dict, "slots_free", sched->slots_free);
    set_u64(dict, "gpus", sched->gpus);
    set_u64(dict, "gpus_free", sched->gpus_free);
    uint32_t drained = gw_sched_gpus_drained(sched);
    if (drained)
        set_u64(dict, "gpus_drained", drained);
    gw_sched_gpus_use(sched, dict);
    uint64_t memory = 0, used = 0, idle = 0, spilled = 0;
    const char *trouble = "";
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state == GW_WORKER_LOST)
            continue;
        memory += worker->memory_bytes;
        used += worker->memory_used_bytes;
        idle += worker->memory.idle_bytes;
        spilled += worker->memory.spilled_bytes;
        trouble = worker->memory_trouble ? worker->memory_trouble : trouble;
    }
    set_u64(dict, "memory_bytes", memory);
    set_u64(dict, "memory_used", used);
    if (idle)
        set_u64(dict, "idle_bytes", idle);
    set_u64(dict, "spilled_bytes", spilled);
    gw_sched_scattered_query(sched, dict);
    if (*trouble)
        set(dict, "memory_trouble", gw_str(trouble));
    set_u64(jobs, "running", running_jobs);
    set_u64(jobs, "ended", sched->job_count - values - running_jobs);
    set(dict, "jobs", jobs);
    set_u64(tasks, "waiting", waiting);
    set_u64(tasks, "running", running);
    set_u64(tasks, "done", done);
    set_u64(tasks, "failed", failed);
    set_u64(tasks, "cancelled", cancelled);
    set(dict, "tasks", tasks);
    return dict;
}

static struct gw_value *query_jobs(const struct gw_sched *sched, const struct gw_value *where)
{
    struct gw_value *list = gw_list();
    uint32_t rows = 0;
    struct gw_running runs;
    gw_running_init(&runs, sched);
    for (const struct gw_job *job = sched->last_job; job && rows < GW_ANSWER_JOBS_MAX;
         job = job->prev) {
        if (gw_sched_job_is_value(job))
            continue;
        if (job->calls_of)
            continue; /* a handful of calls: their actor is listed */
        if (job->tasks.count == 0)
            continue; /* nor is a job that was taken back before it had a task */
        if (where && !gw_sched_annotated(job, where))
            continue;
        GW_MUST(gw_list_push(list, describe_job(sched, job, &runs)));
        rows++;
    }
    gw_running_deinit(&runs);
    return list;
}

/* A task of a range that has no row: not made yet, or given back. */
static struct gw_value *describe_rowless(const struct gw_job *job, uint32_t row)
{
    struct gw_value *dict = gw_dict();
    const struct gw_failure *failure = gw_sched_failure_of(job, row);
    set_u64(dict, "index", row);
    set(dict, "name", gw_str(job->name));
    uint8_t state = gw_sched_range_row_state(job, row);
    set(dict, "state", gw_str(gw_sm_name(&gw_sched_task_sm, state)));
    set(dict, "shown", gw_str(shown_state(state, false)));
    if (failure) {
        set(dict, "code", gw_i64(failure->code));
        set(dict, "exit_code", gw_i64(exit_code_of(failure)));
        set(dict, "text", gw_str(failure->text));
    }
    return dict;
}

static struct gw_value *query_actors(const struct gw_sched *sched)
{
    struct gw_value *list = gw_list();
    uint32_t rows = 0;
    for (const struct gw_actor *actor = sched->actors_last; actor && rows < GW_ANSWER_JOBS_MAX;
         actor = actor->prev, rows++) {
        const struct gw_job *job = actor->job;
        struct gw_value *dict = gw_dict();
        uint32_t handles = 0;
        for (size_t i = 0; i < actor->holds.count; i++)
            handles += actor->holds.items[i].handles;
        set_u64(dict, "job", job->id);
        set(dict, "name", gw_str(actor->name));
        set(dict, "function", gw_str(job->specs.items[0].message.function));
        set(dict, "state", gw_str(gw_sm_name(&gw_sched_actor_sm, actor->state)));
        set(dict, "session", gw_str(job->user));
        set_u64(dict, "worker",
                actor->state == GW_ACTOR_DEAD || !job->tasks.count ? 0 : job->tasks.worker[0]);
        set_u64(dict, "holders", actor->holds.count);
        set_u64(dict, "handles", handles);
        set_u64(dict, "calls_done", actor->done);
        set_u64(dict, "calls_waiting", actor->wanted);
        set_u64(dict, "restarts", actor->restarts);
        const struct gw_failure *failure = gw_sched_failure_of(job, 0);
        if (failure)
            set(dict, "text", gw_str(failure->text));
        GW_MUST(gw_list_push(list, dict));
    }
    return list;
}

static struct gw_value *query_tasks(const struct gw_sched *sched, const struct gw_job *job,
                                    const char *state, int64_t only, uint32_t from)
{
    struct gw_value *list = gw_list();
    struct gw_map last;
    uint32_t rows = 0;
    if (only >= 0 && !gw_sched_row_live(job, (uint32_t)only)) {
        GW_MUST(gw_list_push(list, describe_rowless(job, (uint32_t)only)));
        return list;
    }
    struct gw_running runs;
    gw_running_init(&runs, sched);
    gw_sched_places_last(job, &last);
    for (uint32_t row = gw_sched_row_next(job, only > 0 ? (uint32_t)only : from);
         row < job->tasks.count && rows < GW_ANSWER_TASKS_MAX;
         row = gw_sched_row_next(job, row + 1)) {
        uint8_t at = job->tasks.state[row];
        if (at == GW_TASK_RELEASED)
            at = GW_TASK_DONE;
        const bool running = at == GW_TASK_PLACED && gw_running_row(&runs, sched, job, row);
        if ((state && !is_called(at, running, state)) || (only >= 0 && row != only))
            continue;
        GW_MUST(gw_list_push(list, describe_task(sched, job, row, &last, running)));
        rows++;
    }
    gw_running_deinit(&runs);
    gw_map_deinit(&last);
    return list;
}

static struct gw_value *describe_stock(const struct gw_worker *worker)
{
    struct gw_value *dict = gw_dict();
    for (uint32_t i = 0; i < worker->stock_count; i++) {
        struct gw_value *stock = gw_dict();
        set_u64(stock, "amount", worker->stock[i].amount);
        set_u64(stock, "free", worker->stock[i].free);
        set(dict, worker->stock[i].name, stock);
    }
    return dict;
}

static void push_attempt(struct gw_value *list, uint64_t attempt, uint32_t worker, uint32_t ranks)
{
    struct gw_value *dict = gw_dict();
    set_u64(dict, "attempt", attempt);
    set_u64(dict, "worker", worker);
    if (ranks)
        set_u64(dict, "ranks", ranks);
    GW_MUST(gw_list_push(list, dict));
}

/* How many ranks an attempt of a gang had, of which places[at] is rank 0: they were placed at once.
 */
static uint32_t ranks_at(const struct gw_job *job, size_t at)
{
    uint32_t ranks = 0;
    for (size_t i = at;
         i < job->places.count && job->places.items[i].attempt == job->places.items[at].attempt &&
         job->places.items[i].index == job->places.items[at].index;
         i++)
        ranks++;
    return ranks;
}

/* A task's attempts, the first one first; of a gang, where rank 0 was, and its ranks. */
static struct gw_value *query_attempts(const struct gw_job *job, uint32_t row)
{
    struct gw_value *list = gw_list();
    uint64_t last = 0;
    for (size_t i = 0; i < job->places.count; i++) {
        const struct gw_place *place = &job->places.items[i];
        bool first_rank = place->rank == GW_RANK_NONE || place->rank == 0;
        if (place->unbegun)
            continue;
        if (place->index == row && first_rank && gw_value_count(list) < GW_ANSWER_TASKS_MAX)
            push_attempt(list, last = place->attempt, place->worker,
                         place->rank == 0 ? ranks_at(job, i) : 0);
    }
    if (job->tasks.attempt[row] && job->tasks.attempt[row] != last)
        push_attempt(list, job->tasks.attempt[row], job->tasks.worker[row], 0);
    return list;
}

static const char *memory_state(const struct gw_sched *sched, const struct gw_worker *worker)
{
    switch (worker->memory.state) {
    case GW_MEMORY_PAUSED:
        return "paused";
    case GW_MEMORY_ONE:
        return "one more";
    default:
        return gw_sched_cooling_files_left_ns(sched, worker) > 0 ? "no files" : "open";
    }
}

/* "4", or "1 of 4": the others are drained, or of another worker of the machine, which offers them,
 * too. */
static struct gw_value *describe_gpus(const struct gw_worker *worker)
{
    char text[64];
    uint32_t drained = gw_sched_worker_gpus_drained(worker);
    uint32_t own = gw_sched_gpus_own(worker) - drained;
    int used = snprintf(text, sizeof text, own < worker->gpu_count ? "%u of %u" : "%u", own,
                        worker->gpu_count);
    if (drained)
        (void)snprintf(text + used, sizeof text - (size_t)used, ", %u drained", drained);
    return gw_str(text);
}

static struct gw_value *query_workers(const struct gw_sched *sched)
{
    struct gw_value *list = gw_list();
    struct gw_running runs;
    gw_running_init(&runs, sched);
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state == GW_WORKER_LOST)
            continue;
        struct gw_value *dict = gw_dict(), *gpus = gw_list();
        gw_sched_gpus_push(sched, worker, gpus);
        set_u64(dict, "id", worker->id);
        set(dict, "name", gw_str(worker->remote->name));
        set(dict, "resources", describe_stock(worker));
        set(dict, "host", gw_str(worker->host));
        set(dict, "address", gw_str(*worker->remote->address ? worker->remote->address : "local"));
        set(dict, "state", gw_str(gw_sm_name(&gw_sched_worker_sm, worker->state)));
        set_u64(dict, "slots", worker->slots);
        set_u64(dict, "slots_free", worker->slots_free);
        set(dict, "gpus", gpus);
        set(dict, "gpus_own", describe_gpus(worker));
        set_u64(dict, "memory_bytes", worker->memory_bytes);
        set_u64(dict, "memory_free", worker->memory_free);
        set_u64(dict, "held_bytes", worker->held_bytes);
        set_u64(dict, "memory_used", worker->memory_used_bytes);
        set_u64(dict, "resident_bytes", worker->memory.resident_bytes);
        set_u64(dict, "spilled_bytes", worker->memory.spilled_bytes);
        set_u64(dict, "idle_bytes", worker->memory.idle_bytes);
        set_u64(dict, "written_bytes", worker->memory.written_bytes);
        set_u64(dict, "descriptors", worker->memory.descriptors);
        set(dict, "memory_state", gw_str(memory_state(sched, worker)));
        set(dict, "memory_trouble", gw_str(worker->memory_trouble ? worker->memory_trouble : ""));
        set_u64(dict, "running", gw_running_worker(&runs, sched, worker));
        set_u64(dict, "placed", worker->attempts);
        GW_MUST(gw_list_push(list, dict));
    }
    gw_running_deinit(&runs);
    return list;
}

static struct gw_value *query_gpus(const struct gw_sched *sched)
{
    struct gw_value *list = gw_list();
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i] && sched->workers.items[i]->state == GW_WORKER_READY)
            gw_sched_gpus_push(sched, sched->workers.items[i], list);
    return list;
}

/* -- Asking --------------------------------------------------------------------------------------
 */

/* The job that arguments name, and optionally a task of it. */
static int find_row(const struct gw_sched *sched, const struct gw_value *arguments,
                    struct gw_job **job, int64_t *row, struct gw_error *error)
{
    int64_t id = 0;
    const struct gw_value *value = arguments ? gw_value_find(arguments, "job") : NULL;
    if (!value || gw_value_get_i64(value, &id, NULL) < 0)
        return gw_error_set(error, GW_EINVAL, "which job? (argument \"job\", a number)");
    *job = gw_sched_job_find(sched, (uint64_t)id);
    if (!*job)
        return gw_error_set(error, GW_ENOENT, "there is no job %lld", (long long)id);
    *row = -1;
    const char *name;
    value = gw_value_find(arguments, "name");
    if (value) {
        uint32_t named = GW_NONE;
        if (gw_value_get_str(value, &name, NULL) == 0)
            named = gw_sched_row_named(*job, name);
        if (named == GW_NONE)
            return gw_error_set(error, GW_ENOENT, "job %lld has no task named \"%s\"",
                                (long long)id, gw_value_type(value) == GW_STR ? name : "?");
        *row = named;
        return 0;
    }
    value = gw_value_find(arguments, "index");
    if (value && (gw_value_get_i64(value, row, NULL) < 0 || *row < 0 ||
                  *row >= (int64_t)gw_sched_rows_in_all(*job)))
        return gw_error_set(error, GW_ENOENT, "job %lld has no such task", (long long)id);
    return 0;
}

/* The task that is worth an explanation when nobody says which: the first that has not ended. */
static uint32_t first_waiting(const struct gw_job *job)
{
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1))
        if (!gw_sched_task_final(job, row) && job->tasks.state[row] != GW_TASK_PLACED)
            return row;
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1))
        if (!gw_sched_task_final(job, row))
            return row;
    return 0;
}

/* How many nodes of a graph somebody wants to look at. */
static uint32_t nodes_wanted(const struct gw_value *arguments)
{
    int64_t limit = GW_OUTLINE_NODES;
    if (gw_value_find(arguments, "limit"))
        (void)gw_value_get_i64(gw_value_find(arguments, "limit"), &limit, NULL);
    return limit < 1 ? 1 : limit > GW_OUTLINE_NODES_MAX ? GW_OUTLINE_NODES_MAX : (uint32_t)limit;
}

/* What there is to be listed, without arguments. */
static const struct {
    const char *what;
    struct gw_value *(*make)(const struct gw_sched *sched);
} listings[] = {
    {"status", query_status}, {"published", gw_sched_query_published},
    {"sync", gw_sync_query},  {"workers", query_workers},
    {"actors", query_actors}, {"gpus", query_gpus},
};

int gw_sched_query(const struct gw_sched *sched, const char *what, const struct gw_value *arguments,
                   struct gw_value **answer, struct gw_error *error)
{
    if (strcmp(what, "jobs") == 0) {
        const struct gw_value *where = arguments ? gw_value_find(arguments, "where") : NULL;
        if (where && gw_value_type(where) != GW_DICT)
            return gw_error_set(error, GW_EINVAL, "\"where\" is no dict of texts");
        *answer = query_jobs(sched, where);
        return 0;
    }
    for (size_t i = 0; i < sizeof listings / sizeof *listings; i++)
        if (strcmp(what, listings[i].what) == 0) {
            *answer = listings[i].make(sched);
            GW_MUST_PTR(*answer);
            return 0;
        }
    bool one = strcmp(what, "job") == 0, tasks = strcmp(what, "tasks") == 0;
    bool attempts = strcmp(what, "attempts") == 0, who_has = strcmp(what, "who_has") == 0;
    bool story = strcmp(what, "story") == 0, graph = strcmp(what, "graph") == 0;
    if (!one && !tasks && !attempts && !who_has && !story && !graph && strcmp(what, "explain") != 0)
        return gw_error_set(error, GW_EINVAL, "there is no query \"%s\"", what);
    struct gw_job *job = NULL;
    int64_t row = -1;
    int rc = find_row(sched, arguments, &job, &row, error);
    if (rc < 0)
        return rc;
    const char *state = NULL;
    int64_t from = 0;
    if (tasks && gw_value_find(arguments, "state"))
        (void)gw_value_get_str(gw_value_find(arguments, "state"), &state, NULL);
    if (tasks && gw_value_find(arguments, "from"))
        (void)gw_value_get_i64(gw_value_find(arguments, "from"), &from, NULL);
    if (one) {
        struct gw_running runs;
        gw_running_init(&runs, sched);
        *answer = describe_job(sched, job, &runs);
        gw_running_deinit(&runs);
    } else if (graph) {
        *answer = gw_sched_outline_query(sched, job, nodes_wanted(arguments));
    } else if (story) {
        *answer = gw_sched_story_query(sched, job, row);
    } else if (tasks) {
        *answer = query_tasks(sched, job, state, row, from > 0 ? (uint32_t)from : 0);
    } else if (attempts && job->range && !gw_sched_row_live(job, row < 0 ? 0 : (uint32_t)row)) {
        return gw_error_set(error, GW_ENOENT, "nothing is known of the attempts of task %lld",
                            (long long)(row < 0 ? 0 : row));
    } else if (who_has && job->tasks.count) {
        uint32_t at = row < 0 ? 0 : (uint32_t)row;
        *answer = at < job->tasks.count && gw_sched_row_live(job, at)
                      ? gw_sched_query_who_has(sched, job, at)
                      : gw_list();
    } else if (attempts && job->tasks.count) {
        *answer = query_attempts(job, row < 0 ? 0 : (uint32_t)row);
    } else {
        char text[GW_ERROR_TEXT_MAX] = "the job has no tasks";
        if (row < 0 && job->range)
            gw_sched_explain_range(sched, job, first_waiting(job), text, sizeof text);
        else if (row < 0 && job->tasks.count > 1 && job->unfinished == 0)
            gw_sched_explain_job(sched, job, text, sizeof text);
        else if (job->tasks.count)
            gw_sched_explain(sched, job, row < 0 ? first_waiting(job) : (uint32_t)row, text,
                             sizeof text);
        *answer = gw_str(text);
    }
    GW_MUST_PTR(*answer);
    return 0;
}

int gw_sched_query_encoded(struct gw_sched *sched, const struct gw_msg_query *query,
                           struct gw_bin *body, struct gw_error *error)
{
    struct gw_value *arguments = NULL, *answer;
    int rc = 0;
    if (query->arguments.size)
        rc = gw_codec_decode(query->arguments.data, query->arguments.size, NULL, &arguments, error);
    if (rc == 0)
        rc = gw_sched_query(sched, query->what, arguments, &answer, error);
    gw_value_unref(arguments);
    if (rc < 0)
        return rc;
    struct gw_buffer bytes = {0};
    GW_MUST(gw_codec_encode(answer, NULL, &bytes));
    gw_value_unref(answer);
    if (bytes.size > ANSWER_BYTES_MAX)
        rc = gw_error_set(error, GW_ELIMIT, "the answer is larger than a message: narrow it");
    else
        *body = gw_sched_bin(sched, (struct gw_bin){bytes.data, (uint32_t)bytes.size});
    gw_buffer_deinit(&bytes);
    return rc;
}
