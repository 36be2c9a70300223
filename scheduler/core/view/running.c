/* Finds out which tasks run.
 *
 * Invariant: in a worker queue, the number of short attempts that count as running is at most the
 * number of its debits. For an actor, at most one call counts as running. Attempts that reported
 * their start are counted in addition. */
#include "scheduler/core/view/running.h"

#include "graph/base/text.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/view/page.h"

#include <stdlib.h>

static void count(struct gw_running *running, const struct gw_job *job)
{
    uint64_t before = 0;
    (void)gw_map_get(&running->tasks, job->id, &before);
    GW_MUST(gw_map_put(&running->tasks, job->id, before + 1));
}

/* Calls wait in the runner of their actor, and one runs at a time. Returns true for the first call
 * of an actor that is seen. */
static bool first_call(struct gw_map *actors, const struct gw_attempt *attempt)
{
    const uint64_t actor = (uintptr_t)attempt->job->calls_of;
    if (gw_map_get(actors, actor, NULL))
        return false;
    GW_MUST(gw_map_put(actors, actor, 1));
    return true;
}

/* Returns true if an attempt counts as running. A recalled attempt has most likely not begun. A
 * pipelined attempt waits for other tasks. `shared` holds, by resource class, the debits that the
 * remaining short attempts share. */
static bool runs(const struct gw_attempt *attempt, uint32_t *shared, struct gw_map *actors)
{
    if (attempt->state == GW_ATTEMPT_RUNNING)
        return true;
    if (attempt->job->calls_of)
        return first_call(actors, attempt);
    if (attempt->is_long)
        return true;
    uint32_t *left = &shared[attempt->lane->shape->id];
    if (attempt->pipelined || attempt->state == GW_ATTEMPT_RECALLED || *left == 0)
        return false;
    --*left;
    return true;
}

static void use(struct gw_running *running, const struct gw_sched *sched,
                const struct gw_attempt *attempt)
{
    uint64_t at;
    if (!gw_map_get(&running->used, attempt->job->id, &at)) {
        at = running->usages.count;
        GW_MUST(gw_array_push(&running->usages, (struct gw_job_usage){0}));
        GW_MUST(gw_map_put(&running->used, attempt->job->id, at));
    }
    gw_job_usage_add(sched, attempt, &running->usages.items[at]);
}

static void look(struct gw_running *running, const struct gw_sched *sched,
                 const struct gw_worker *worker, uint32_t *shared, struct gw_map *actors)
{
    for (uint32_t i = 0; i < worker->queue_count; i++) {
        const struct gw_worker_queue *lane = worker->queues[i];
        shared[i] = lane ? lane->debits - lane->longs : 0;
    }
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        running->runs[slot] = runs(attempt, shared, actors);
        if (running->runs[slot])
            use(running, sched, attempt);
        if (running->runs[slot] && !attempt->gang)
            count(running, attempt->job);
    }
}

void gw_running_init(struct gw_running *running, const struct gw_sched *sched)
{
    uint32_t queues = 1;
    size_t at = 0;
    uint64_t id, value;
    struct gw_map actors = {0};
    *running = (struct gw_running){.runs = calloc(sched->attempts.count + 1, 1)};
    GW_MUST_PTR(running->runs);
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i] && sched->workers.items[i]->queue_count > queues)
            queues = sched->workers.items[i]->queue_count;
    uint32_t *shared = calloc(queues, sizeof *shared);
    GW_MUST_PTR(shared);
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i])
            look(running, sched, sched->workers.items[i], shared, &actors);
    while (gw_map_next(&sched->gangs, &at, &id, &value)) {
        const struct gw_gang_attempt *gang = (const struct gw_gang_attempt *)(uintptr_t)value;
        uint8_t state = gang->job->tasks.state[gang->index];
        if (state == GW_TASK_PLACED || state == GW_TASK_CANCELLING)
            count(running, gang->job);
    }
    free(shared);
    gw_map_deinit(&actors);
}

void gw_running_deinit(struct gw_running *running)
{
    free(running->runs);
    gw_map_deinit(&running->used);
    gw_array_deinit(&running->usages);
    gw_map_deinit(&running->tasks);
    *running = (struct gw_running){0};
}

uint32_t gw_running_job(const struct gw_running *running, const struct gw_job *job)
{
    uint64_t tasks = 0;
    (void)gw_map_get(&running->tasks, job->id, &tasks);
    return (uint32_t)tasks;
}

uint64_t gw_running_all(const struct gw_running *running)
{
    size_t at = 0;
    uint64_t job, tasks, all = 0;
    while (gw_map_next(&running->tasks, &at, &job, &tasks))
        all += tasks;
    return all;
}

void gw_running_usage(const struct gw_running *running, const struct gw_job *job,
                      struct gw_job_usage *usage)
{
    uint64_t at;
    if (!gw_map_get(&running->used, job->id, &at))
        return;
    usage->slot_ns += running->usages.items[at].slot_ns;
    usage->gpu_ns += running->usages.items[at].gpu_ns;
    usage->memory_mib_ms += running->usages.items[at].memory_mib_ms;
    usage->cpu_ns += running->usages.items[at].cpu_ns;
}

bool gw_running_row(const struct gw_running *running, const struct gw_sched *sched,
                    const struct gw_job *job, uint32_t row)
{
    const uint64_t attempt = job->tasks.attempt[row];
    if (gw_map_get(&sched->gangs, attempt, NULL))
        return true;
    uint32_t slot = gw_sched_attempt_find(sched, attempt);
    return slot != GW_NO_INDEX && running->runs[slot];
}

uint32_t gw_running_worker(const struct gw_running *running, const struct gw_sched *sched,
                           const struct gw_worker *worker)
{
    uint32_t all = 0;
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next)
        all += running->runs[slot];
    return all;
}

const char *gw_running_state(const struct gw_sched *sched, const struct gw_job *job,
                             const struct gw_running *runs)
{
    if (job->state == GW_JOB_OPEN)
        return "open";
    if (!gw_sched_job_shown_ended(sched, job) && job->paused)
        return job->placed > 0 ? "pausing" : "paused";
    if (!gw_sched_job_shown_ended(sched, job))
        return runs && gw_running_job(runs, job) > 0 ? "running" : "queued";
    if (job->failed > 0)
        return "failed";
    return job->cancelled_tasks > 0 ? "cancelled" : "done";
}

/* -- Rows ----------------------------------------------------------------------------------------
 */

enum { ROW_UNITS = 60 };

static void put_gpus(const struct gw_sched *sched, uint32_t slot, struct gw_value *row)
{
    char numbers[256] = "";
    struct gw_text text = {numbers, sizeof numbers, 0};
    uint32_t count = 0;
    for (uint32_t i = 0;
         sched->attempts.items[slot].gpus && (i = gw_sched_gpu_next(sched, slot, i)) != GW_NO_INDEX;
         i++, count++)
        gw_text_say(&text, "%s%u", count ? "," : "", i);
    gw_dict_put(row, "gpus", gw_str(numbers));
}

static struct gw_value *describe(const struct gw_sched *sched, uint32_t slot)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    const struct gw_job *job = attempt->job;
    const uint64_t since_ns = attempt->started_ns ? attempt->started_ns : attempt->placed_ns;
    struct gw_value *row = gw_dict();
    char label[256], user[GW_USER_NAME_MAX];
    gw_sched_task_label(job, attempt->index, label, sizeof label);
    gw_dict_put_u64(row, "job", job->id);
    gw_dict_put_u64(row, "index", attempt->index);
    gw_dict_put(row, "name", gw_str(label));
    gw_dict_put(row, "user", gw_str(gw_user_name(sched, job->uid, user)));
    if (attempt->gang)
        gw_dict_put_u64(row, "rank", attempt->rank);
    gw_dict_put(row, "worker", gw_str(attempt->worker->remote->name));
    gw_dict_put(row, "host", gw_str(attempt->worker->host));
    gw_dict_put_u64(row, "slots", attempt->lane->shape->slots);
    put_gpus(sched, slot, row);
    gw_dict_put_u64(row, "memory_bytes", attempt->lane->shape->memory_bytes);
    gw_dict_put_u64(row, "started_ns", sched->wall_ns - (sched->now_ns - since_ns));
    gw_dict_put_u64(row, "run_ns", sched->now_ns - since_ns);
    gw_metric_put(gw_metric_first(job, attempt->index), row);
    return row;
}

void gw_running_rows(const struct gw_sched *sched, struct gw_page *page)
{
    struct gw_running runs;
    uint64_t at = 0;
    gw_running_init(&runs, sched);
    for (size_t i = 0; i < sched->workers.count && !page->more; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        for (uint32_t slot = worker ? worker->first : GW_NO_INDEX; slot != GW_NO_INDEX;
             slot = sched->attempts.items[slot].next) {
            if (!runs.runs[slot] || at++ < page->cursor)
                continue;
            if (gw_page_is_full(page, at - 1) || !gw_page_spend(page, ROW_UNITS, at - 1))
                break;
            gw_page_push(page, describe(sched, slot));
        }
    }
    gw_running_deinit(&runs);
}
