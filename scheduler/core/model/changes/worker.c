/* Changes of state of workers: registration, readiness, loss and removal. */

#include "scheduler/core/model/changes/changes.h"

#include "graph/base/text.h"
#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/jobs/pending.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/core/model/worker_name.h"
#include "scheduler/core/model/workers/gpu.h"
#include "scheduler/core/model/workers/gpu_drain.h"
#include "scheduler/core/model/workers/gpu_twin.h"
#include "scheduler/core/model/workers/hold.h"
#include "scheduler/core/model/workers/late_claim.h"
#include "scheduler/core/model/workers/lost_worker.h"
#include "scheduler/core/model/workers/need.h"
#include "scheduler/core/model/workers/worker.h"
#include "scheduler/core/model/workers/worker_drain.h"
#include "scheduler/core/model/workers/worker_queue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gw_sched_worker_register(struct gw_sched *sched, struct gw_worker *worker,
                              const struct gw_msg_registration *registration)
{
    worker->incarnation = registration->incarnation;
    worker->slots = worker->slots_free = registration->slots;
    worker->memory_bytes = worker->memory_free = registration->memory_bytes;
    worker->all_users = registration->all_users != 0;
    worker->host = gw_arena_strdup(&worker->arena, registration->host);
    GW_MUST_PTR(worker->host);
    worker->address = gw_arena_strdup(&worker->arena, registration->address);
    GW_MUST_PTR(worker->address);
    worker->machine = gw_arena_strdup(
        &worker->arena, registration->machine && *registration->machine ? registration->machine
                                                                        : registration->host);
    GW_MUST_PTR(worker->machine);
    gw_sched_gpus_set(worker, registration->gpus);
    gw_sched_gpu_drain_mark(sched, worker);
    gw_sched_gpu_twins_find(sched, worker, registration);
    gw_sched_need_stock_set(worker, registration->resources);
    for (uint32_t i = 0; i < registration->attempt.count; i++)
        GW_MUST(gw_array_push(&worker->stale,
                              ((struct gw_stale){gw_col64_at(registration->attempt, i),
                                                 gw_col32_at(registration->attempt_rank, i)})));
    if (worker->stale.count)
        gw_sm_move(&gw_sched_worker_sm, &worker->state, GW_WORKER_REJOINING);
}

void gw_sched_worker_make_ready(struct gw_sched *sched, struct gw_worker *worker)
{
    gw_sm_move(&gw_sched_worker_sm, &worker->state, GW_WORKER_READY);
    sched->workers_ready++;
    sched->workers_epoch++;
    sched->slots += worker->slots;
    sched->slots_free += worker->slots_free;
    sched->gpus += gw_sched_gpu_twin_own(worker);
    sched->gpus_free += worker->gpus_free;
    sched->instances_free += worker->instances_free;
    gw_sched_worker_name_add(sched, worker);
    gw_sched_worker_drain_mark(sched, worker);
    gw_sched_worker_queue_link(sched, worker);
    gw_sched_lost_worker_on_ready(sched, worker);
    gw_sched_queue_classes_update(sched);
    sched->freed = true;
    gw_sched_pending_on_back(sched);
}

/* Removes the resources of a worker from the totals of the cluster. */
static void count_out(struct gw_sched *sched, struct gw_worker *worker, const char *why)
{
    char where[GW_WORKER_NAME_MAX];
    assert(worker->attempts == 0 && worker->first_holder == GW_NO_INDEX);
    GW_EACH_RESERVATION (number, worker->reserved)
        gw_sched_reservation_clear(sched, number);
    if (worker->state != GW_WORKER_READY)
        return;
    assert(worker->slots_free == worker->slots);
    sched->workers_ready--;
    sched->workers_epoch++;
    sched->slots -= worker->slots;
    sched->slots_free -= worker->slots;
    sched->gpus -= gw_sched_gpu_twin_own(worker);
    sched->gpus_free -= worker->gpus_free;
    sched->instances_free -= worker->instances_free;
    gw_sched_worker_queue_unlink(sched, worker);
    (void)snprintf(sched->lost_worker, sizeof sched->lost_worker, "%s was lost: %s",
                   gw_sched_worker_where(sched, worker->id, where), why);
    sched->lost_worker_ns = sched->now_ns;
}

void gw_sched_worker_set_empty(struct gw_sched *sched, struct gw_worker *worker, const char *why)
{
    count_out(sched, worker, why);
    gw_sched_late_claim_forget(sched, worker);
    gw_sched_lost_worker_on_lost(sched, worker);
    gw_sm_move(&gw_sched_worker_sm, &worker->state, GW_WORKER_SHUTTING_DOWN);
    sched->leaving++;
    sched->leave_look_ns = 0;
    sched->freed = true;
    gw_sched_queue_classes_update(sched);
}

void gw_sched_worker_set_lost(struct gw_sched *sched, struct gw_worker *worker, const char *why)
{
    count_out(sched, worker, why);
    gw_sched_late_claim_forget(sched, worker);
    gw_sched_lost_worker_on_lost(sched, worker);
    gw_sched_hold_lose(sched, worker);
    sched->leaving -= worker->state == GW_WORKER_SHUTTING_DOWN;
    gw_sm_move(&gw_sched_worker_sm, &worker->state, GW_WORKER_LOST);
    gw_sched_gpu_twins_free(sched, worker);
    sched->freed = true; /* a waiting elastic gang may start with fewer ranks now, because the
                            cluster has room for fewer ranks than before */
    gw_sched_queue_classes_update(sched);
}

/* Updates the marks of ready workers after a change of the list of drained workers. */
static void mark_drained(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i] && sched->workers.items[i]->state == GW_WORKER_READY)
            gw_sched_worker_drain_mark(sched, sched->workers.items[i]);
    sched->workers_epoch++; /* a reservation must not wait for a drained worker */
    gw_sched_queue_classes_update(sched);
    sched->freed = true;
}

static void undrain(struct gw_sched *sched, const char *name)
{
    const struct gw_worker_drain *drain = gw_sched_worker_drain_find(sched, name);
    if (drain)
        gw_sched_worker_drain_drop(sched, (size_t)(drain - sched->worker_drains->items.items));
}

void gw_sched_apply_worker_drained(struct gw_sched *sched,
                                   const struct gw_fact_worker_drained *fact)
{
    /* the casts are safe: the texts are copied */
    const struct gw_worker_drain drain = {.name = (char *)(uintptr_t)fact->name,
                                          .why = (char *)(uintptr_t)fact->why,
                                          .by = (char *)(uintptr_t)fact->by,
                                          .until_wall_ns = fact->until_wall_ns,
                                          .check = fact->check != 0};
    undrain(sched, fact->name);
    gw_sched_worker_drain_push(sched, &drain);
    mark_drained(sched);
}

void gw_sched_apply_worker_undrained(struct gw_sched *sched,
                                     const struct gw_fact_worker_undrained *fact)
{
    undrain(sched, fact->name);
    mark_drained(sched);
}

void gw_sched_lost_worker_on_lost(struct gw_sched *sched, const struct gw_worker *worker)
{
    if (!worker->host) /* the worker never registered */
        return;
    if (!sched->disconnected)
        GW_MUST_PTR(sched->disconnected = calloc(1, sizeof *sched->disconnected));
    gw_sched_lost_worker_on_ready(sched, worker);
    if (sched->disconnected->count == GW_LOST_WORKERS_MAX)
        gw_sched_lost_worker_forget(sched->disconnected, 0);
    struct gw_lost_worker *item = &sched->disconnected->items[sched->disconnected->count++];
    *item = (struct gw_lost_worker){.incarnation = worker->incarnation,
                                    .lost_ns = sched->now_ns,
                                    .memory_bytes = worker->memory_bytes,
                                    .slots = worker->slots,
                                    .gpus = gw_sched_gpu_twin_own(worker),
                                    .instances = gw_sched_lost_worker_instances(worker)};
    struct gw_text name = {item->name, sizeof item->name, 0};
    struct gw_text host = {item->host, sizeof item->host, 0};
    gw_text_say(&name, "%s", worker->remote->name);
    gw_text_say(&host, "%s", worker->host);
}

static void find_candidates(struct gw_sched *sched, struct gw_resource_class *shape)
{
    if (shape->candidates_epoch == sched->workers_epoch)
        return;
    shape->candidates_epoch = sched->workers_epoch;
    gw_array_clear(&shape->candidates);
    for (int named = 1; named >= 0; named--) {
        for (size_t i = 0; i < sched->workers.count; i++) {
            struct gw_worker *worker = sched->workers.items[i];
            if (worker && gw_sched_worker_could(worker, shape) &&
                gw_sched_need_names(shape->need, worker) == named)
                GW_MUST(gw_array_push(&shape->candidates, worker));
        }
        if (named)
            shape->candidates_named = (uint32_t)shape->candidates.count;
    }
}

struct gw_worker *gw_sched_need_worker(struct gw_sched *sched, struct gw_resource_class *shape,
                                       bool (*takes)(const struct gw_sched *sched,
                                                     const struct gw_worker *worker, void *arg),
                                       void *arg)
{
    struct gw_worker *best = NULL;
    find_candidates(sched, shape);
    for (uint32_t i = 0; i < shape->candidates.count; i++) {
        struct gw_worker *worker = shape->candidates.items[i];
        if (best && i == shape->candidates_named)
            break; /* a worker that the constraint names has room */
        if ((!best || worker->slots_free > best->slots_free) && takes(sched, worker, arg))
            best = worker;
    }
    return best;
}

void gw_sched_worker_set_leaving(struct gw_sched *sched, struct gw_worker *worker)
{
    worker->leaves = true;
    sched->freed = true;
}

void gw_sched_worker_let_go(struct gw_worker *worker)
{
    worker->let_go = true;
}

void gw_sched_workers_leave_look(struct gw_sched *sched, uint64_t next_ns)
{
    sched->leave_look_ns = next_ns;
}

void gw_sched_worker_new(struct gw_sched *sched, struct gw_remote *remote)
{
    struct gw_worker *worker = calloc(1, sizeof *worker);
    GW_MUST_PTR(worker);
    uint32_t slot = 0;
    while (slot < sched->workers.count && sched->workers.items[slot])
        slot++;
    if (slot == sched->workers.count)
        GW_MUST(gw_array_push(&sched->workers, NULL));
    sched->workers.items[slot] = worker;
    worker->id = sched->next_worker++;
    worker->slot = slot;
    worker->remote = remote;
    worker->host = "?";
    worker->first = worker->last = worker->first_holder = GW_NO_INDEX;
    worker->heard_ns = sched->now_ns;
    remote->worker = worker;
}

void gw_sched_worker_free(struct gw_sched *sched, struct gw_worker *worker)
{
    gw_sched_rows_forget(sched, worker, NULL);
    gw_sched_attempt_frontier_forget(sched, worker);
    sched->workers.items[worker->slot] = NULL;
    for (uint32_t i = 0; i < worker->queue_count; i++)
        free(worker->queues[i]);
    free(worker->queues);
    gw_sched_gpus_deinit(worker);
    free(worker->memory_trouble);
    free(worker->unhealthy);
    free(worker->clock_why);
    free(worker->neighbours);
    gw_array_deinit(&worker->stale);
    gw_sched_late_claim_forget(sched, worker);
    gw_worker_rows_deinit(sched, worker);
    gw_arena_deinit(&worker->arena);
    free(worker);
}

/* Records in a list, indexed by the worker's place in the table of workers, that this worker was
 * informed. */
static void remember(uint32_t **told, uint32_t *count, const struct gw_worker *worker)
{
    if (worker->slot >= *count) {
        uint32_t more = worker->slot + 4;
        *told = realloc(*told, more * sizeof **told);
        GW_MUST_PTR(*told);
        memset(*told + *count, 0, (more - *count) * sizeof **told);
        *count = more;
    }
    (*told)[worker->slot] = worker->id;
}

void gw_sched_worker_told_spec(struct gw_job *job, uint32_t number, struct gw_worker *worker)
{
    struct gw_spec *spec = &job->specs.items[number];
    remember(&spec->told, &spec->told_count, worker);
}

void gw_sched_worker_told_neighbour(struct gw_worker *worker, struct gw_worker *neighbour)
{
    remember(&worker->neighbours, &worker->neighbour_count, neighbour);
}
