/* Builds the answers about the whole cluster for the listings: status, workers, GPUs and actors. */
#include "scheduler/core/view/cluster_rows.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/scattered.h"
#include "scheduler/core/view/running.h"

#include <gangway/version.h>
#include <stdio.h>
#include <string.h>

enum { UNCOMMITTED_SEEN_MAX = 1000 };

/* Counts recently ended jobs whose end is not shown to clients yet, because the fact of the end is
 * not committed. Looks only at the latest UNCOMMITTED_SEEN_MAX ended jobs. */
static uint32_t jobs_uncommitted(const struct gw_sched *sched)
{
    uint32_t count = 0, seen = 0;
    for (const struct gw_job *job = sched->ended.last; job && seen < UNCOMMITTED_SEEN_MAX;
         job = job->ended_prev, seen++)
        count += !gw_sched_job_shown_ended(sched, job);
    for (const struct gw_job *job = sched->retained.last; job && seen < 2 * UNCOMMITTED_SEEN_MAX;
         job = job->ended_prev, seen++)
        count += !gw_sched_job_shown_ended(sched, job);
    return count;
}

/* The job and task counts come from running totals: this function must not walk all jobs. */
struct gw_value *gw_cluster_rows_status(const struct gw_sched *sched)
{
    struct gw_value *dict = gw_dict(), *tasks = gw_dict(), *jobs = gw_dict();
    const struct gw_tally *tally = &sched->tally;
    struct gw_running runs;
    gw_running_init(&runs, sched);
    const uint64_t running = gw_running_all(&runs);
    gw_running_deinit(&runs);
    gw_dict_put(dict, "version", gw_str(GANGWAY_VERSION));
    gw_dict_put_u64(dict, "term", sched->term);
    gw_dict_put_u64(dict, "uptime_ns", sched->now_ns - sched->start_ns);
    gw_dict_put(dict, "state_dir", gw_str(sched->options.state_dir));
    if (sched->options.address)
        gw_dict_put(dict, "address", gw_str(sched->options.address));
    gw_dict_put_u64(dict, "workers", sched->workers_ready);
    gw_dict_put_u64(dict, "sessions", sched->session_count);
    gw_dict_put_u64(dict, "slots", sched->slots);
    gw_dict_put_u64(dict, "slots_free", sched->slots_free);
    gw_dict_put_u64(dict, "gpus", sched->gpus);
    gw_dict_put_u64(dict, "gpus_free", sched->gpus_free);
    uint32_t drained = gw_sched_gpu_text_drained(sched);
    if (drained)
        gw_dict_put_u64(dict, "gpus_drained", drained);
    gw_sched_gpu_tell_use(sched, dict);
    uint64_t memory = 0, used = 0, idle = 0, spilled = 0, drained_workers = 0;
    const char *trouble = "";
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state == GW_WORKER_LOST)
            continue;
        drained_workers += worker->drained;
        memory += worker->memory_bytes;
        used += worker->memory_used_bytes;
        idle += worker->memory.idle_bytes;
        spilled += worker->memory.spilled_bytes;
        trouble = worker->memory_trouble ? worker->memory_trouble : trouble;
    }
    if (drained_workers)
        gw_dict_put_u64(dict, "workers_drained", drained_workers);
    gw_dict_put_u64(dict, "memory_bytes", memory);
    gw_dict_put_u64(dict, "memory_used", used);
    if (idle)
        gw_dict_put_u64(dict, "idle_bytes", idle);
    gw_dict_put_u64(dict, "spilled_bytes", spilled);
    gw_sched_scattered_query(sched, dict);
    if (*trouble)
        gw_dict_put(dict, "memory_trouble", gw_str(trouble));
    char clock[GW_ERROR_TEXT_MAX];
    gw_sched_worker_drain_clock(sched, clock, sizeof clock);
    if (*clock)
        gw_dict_put(dict, "clock_trouble", gw_str(clock));
    gw_dict_put_u64(jobs, "running", sched->unended_jobs + jobs_uncommitted(sched));
    gw_dict_put_u64(jobs, "ended",
                    sched->ended.count + sched->retained.count - jobs_uncommitted(sched));
    gw_dict_put(dict, "jobs", jobs);
    gw_dict_put_u64(tasks, "waiting", tally->unfinished - running);
    gw_dict_put_u64(tasks, "running", running);
    gw_dict_put_u64(tasks, "done", tally->done > sched->values ? tally->done - sched->values : 0);
    gw_dict_put_u64(tasks, "failed", tally->failed);
    gw_dict_put_u64(tasks, "cancelled", tally->cancelled);
    gw_dict_put(dict, "tasks", tasks);
    return dict;
}

struct gw_value *gw_cluster_rows_actors(const struct gw_sched *sched, const struct gw_remote *asker)
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
        gw_dict_put_u64(dict, "job", job->id);
        gw_dict_put(dict, "name", gw_str(actor->name));
        gw_dict_put(dict, "function", gw_str(job->specs.items[0].message.function));
        gw_dict_put(dict, "state", gw_str(gw_sm_name(&gw_sched_actor_sm, actor->state)));
        gw_dict_put(dict, "session", gw_str(job->user));
        gw_dict_put_u64(dict, "worker",
                        actor->state == GW_ACTOR_DEAD || !job->tasks.count ? 0
                                                                           : job->tasks.worker[0]);
        gw_dict_put_u64(dict, "holders", actor->holds.count);
        gw_dict_put_u64(dict, "handles", handles);
        gw_dict_put_u64(dict, "calls_done", actor->done);
        gw_dict_put_u64(dict, "calls_waiting", actor->wanted);
        gw_dict_put_u64(dict, "restarts", actor->restarts);
        const struct gw_failure *failure = gw_sched_task_failure_of(job, 0);
        if (failure && gw_sched_access_sees(asker, job))
            gw_dict_put(dict, "text", gw_str(failure->text));
        GW_MUST(gw_list_push(list, dict));
    }
    return list;
}

static struct gw_value *describe_stock(const struct gw_worker *worker)
{
    struct gw_value *dict = gw_dict();
    for (uint32_t i = 0; i < worker->stock_count; i++) {
        if (strcmp(worker->stock[i].name, GW_SLOTLESS) == 0)
            continue;
        struct gw_value *stock = gw_dict();
        gw_dict_put_u64(stock, "amount", worker->stock[i].amount);
        gw_dict_put_u64(stock, "free", worker->stock[i].free);
        gw_dict_put(dict, worker->stock[i].name, stock);
    }
    return dict;
}

static const char *memory_state(const struct gw_sched *sched, const struct gw_worker *worker)
{
    switch (worker->memory.state) {
    case GW_MEMORY_PAUSED:
        return "paused";
    case GW_MEMORY_ONE:
        return "one more";
    default:
        return gw_sched_quarantine_files_left_ns(sched, worker) > 0 ? "no files" : "open";
    }
}

/* Puts the state of a worker, and, if it is drained, by whom, why, and until when what it runs may
 * go on. */
static void describe_state(const struct gw_sched *sched, const struct gw_worker *worker,
                           struct gw_value *dict)
{
    const char *state = gw_sm_name(&gw_sched_worker_sm, worker->state);
    if (worker->drained) {
        const struct gw_worker_drain *drain =
            gw_sched_worker_drain_find(sched, worker->remote->name);
        char text[512];
        state = worker->attempts ? "draining" : "drained";
        gw_sched_worker_drain_text(drain, text, sizeof text);
        gw_dict_put(dict, "drained", gw_str(text));
        if (drain->until_wall_ns)
            gw_dict_put_u64(dict, "drain_deadline_wall_ns", drain->until_wall_ns);
    }
    gw_dict_put(dict, "state", gw_str(state));
}

/* Formats a worker's GPUs as "4" or "1 of 4". The second form means that the remaining GPUs are
 * drained or belong to another worker on the same machine that offers the same GPUs. */
static struct gw_value *describe_gpus(const struct gw_worker *worker)
{
    char text[64];
    uint32_t drained = gw_sched_gpu_text_worker_drained(worker);
    uint32_t own = gw_sched_gpu_twin_own(worker) - drained;
    int used = snprintf(text, sizeof text, own < worker->gpu_count ? "%u of %u" : "%u", own,
                        worker->gpu_count);
    if (drained)
        (void)snprintf(text + used, sizeof text - (size_t)used, ", %u drained", drained);
    return gw_str(text);
}

struct gw_value *gw_cluster_rows_workers(const struct gw_sched *sched)
{
    struct gw_value *list = gw_list();
    struct gw_running runs;
    gw_running_init(&runs, sched);
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state == GW_WORKER_LOST)
            continue;
        struct gw_value *dict = gw_dict(), *gpus = gw_list();
        gw_sched_gpu_tell_push(sched, worker, gpus);
        gw_dict_put_u64(dict, "id", worker->id);
        gw_dict_put(dict, "name", gw_str(worker->remote->name));
        gw_dict_put(dict, "resources", describe_stock(worker));
        gw_dict_put(dict, "host", gw_str(worker->host));
        gw_dict_put(dict, "address",
                    gw_str(*worker->remote->address ? worker->remote->address : "local"));
        describe_state(sched, worker, dict);
        gw_dict_put_u64(dict, "slots", worker->slots);
        gw_dict_put_u64(dict, "slots_free", worker->slots_free);
        gw_dict_put(dict, "gpus", gpus);
        gw_dict_put(dict, "gpus_own", describe_gpus(worker));
        gw_dict_put_u64(dict, "memory_bytes", worker->memory_bytes);
        gw_dict_put_u64(dict, "memory_free", worker->memory_free);
        gw_dict_put_u64(dict, "held_bytes", worker->held_bytes);
        gw_dict_put_u64(dict, "memory_used", worker->memory_used_bytes);
        gw_dict_put_u64(dict, "resident_bytes", worker->memory.resident_bytes);
        gw_dict_put_u64(dict, "spilled_bytes", worker->memory.spilled_bytes);
        gw_dict_put_u64(dict, "idle_bytes", worker->memory.idle_bytes);
        gw_dict_put_u64(dict, "written_bytes", worker->memory.written_bytes);
        gw_dict_put_u64(dict, "descriptors", worker->memory.descriptors);
        gw_dict_put(dict, "memory_state", gw_str(memory_state(sched, worker)));
        gw_dict_put(dict, "memory_trouble",
                    gw_str(worker->memory_trouble ? worker->memory_trouble : ""));
        gw_dict_put_u64(dict, "running", gw_running_worker(&runs, sched, worker));
        gw_dict_put_u64(dict, "placed", worker->attempts);
        GW_MUST(gw_list_push(list, dict));
    }
    gw_running_deinit(&runs);
    return list;
}

struct gw_value *gw_cluster_rows_gpus(const struct gw_sched *sched)
{
    struct gw_value *list = gw_list();
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i] && sched->workers.items[i]->state == GW_WORKER_READY)
            gw_sched_gpu_tell_push(sched, sched->workers.items[i], list);
    return list;
}
