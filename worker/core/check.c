/* Checks the invariants of the worker's core after every step (dev preset only). */
#include "worker/core/gangs/actor.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/tables.h"
#include "worker/core/node.h"
#include "worker/core/objects/result_memfd.h"
#include "worker/core/objects/workdir_retention.h"
#include "worker/core/processes/gpu.h"

#include <assert.h>

/* Checks an attempt's list of successors, which are attempts that need its result: each of them
 * waits for this attempt, and a successor that was sent to a runner is in the same queue and batch
 * as the attempt. */
static void check_successors(const struct gw_attempt *run)
{
    const struct gw_attempt_input *before = NULL;
    for (const struct gw_attempt_input *dep = run->first_successor; dep;
         before = dep, dep = dep->next) {
        assert(dep->maker == run && dep->prev == before && dep->successor->missing > 0);
        assert(dep->successor->state != GW_ATTEMPT_SENT ||
               (dep->successor->list == run->list && dep->successor->batch == run->batch));
    }
    assert(run->last_successor == before);
}

static void check_list(const struct gw_node_core *core, const struct gw_attempts *list,
                       uint32_t states)
{
    size_t count = 0;
    const struct gw_attempt *before = NULL;
    for (const struct gw_attempt *run = list->first; run; before = run, run = run->next) {
        assert(run->list == list && run->prev == before);
        assert(GW_SM_NEXT(run->state) & states);
        assert(gw_attempt_find(core, run->attempt, run->rank) == run);
        if (run->missing > 0)
            assert(run->state == GW_ATTEMPT_WAITING || run->state == GW_ATTEMPT_SENT);
        else
            assert(run->state != GW_ATTEMPT_WAITING);
        check_successors(run);
        assert(run->spec->refs > 0);
        count++;
    }
    assert(list->last == before && list->count == count);
}

static uint32_t check_process(const struct gw_node_core *core, const struct gw_process *process,
                              uint32_t *bound)
{
    uint64_t load = 0;
    check_list(core, &process->queue,
               GW_SM_NEXT(GW_ATTEMPT_STARTING) | GW_SM_NEXT(GW_ATTEMPT_RANK_READY) |
                   GW_SM_NEXT(GW_ATTEMPT_SENT) | GW_SM_NEXT(GW_ATTEMPT_RUNNING) |
                   GW_SM_NEXT(GW_ATTEMPT_ENDING));
    for (const struct gw_attempt *run = process->queue.first; run; run = run->next) {
        assert(run->process == process);
        assert(run == process->queue.first || run->state == GW_ATTEMPT_SENT);
        load += run->load_ns;
    }
    assert(process->load_ns == load);
    assert(process->runner == (process->pool != NULL));
    assert(process->runner || process->queue.count <= 1);
    assert(gw_process_find(core, process->id) == process);
    assert(process->state != GW_PROCESS_GONE);
    if (process->state == GW_PROCESS_IDLE)
        assert(process->runner && process->hello && !process->queue.first && !process->reaping);
    if (process->state == GW_PROCESS_REAPED)
        assert(process->link); /* without a connection, its outcome was decided at once */
    assert(!process->lent || process->state != GW_PROCESS_IDLE);
    if (process->behind) /* a waiting command holds no slots before its turn comes */
        assert(process->behind->before == process && !process->slots && !process->runner);
    assert(!process->before || process->before->behind == process);
    assert(!process->parked || process->state == GW_PROCESS_IDLE || process->reaping ||
           process->state == GW_PROCESS_EXITED);
    if (process->state == GW_PROCESS_REAPED || process->lent || process->parked)
        return 0;
    /* Count the slots of a process only if it needed free slots to start. */
    if (process->state != GW_PROCESS_IDLE && !process->woke && !process->reaping &&
        process->state != GW_PROCESS_EXITED)
        *bound += process->slots;
    return process->slots;
}

static void check_pool(const struct gw_node_core *core, const struct gw_runner_pool *pool)
{
    uint32_t starting = 0;
    check_list(core, &pool->ready, GW_SM_NEXT(GW_ATTEMPT_READY));
    for (size_t i = 0; i < pool->runners.count; i++) {
        const struct gw_process *process = pool->runners.items[i];
        assert(process->pool == pool && !process->reaping);
        assert(process->state <= GW_PROCESS_BUSY);
        assert(!process->starts ||
               (process->state == GW_PROCESS_STARTING && !process->queue.first));
        starting += process->starts;
    }
    assert(pool->starting == starting);
}

static void check_gangs(const struct gw_node_core *core)
{
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->gangs, &at, &key, &value)) {
        const struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
        assert(gang->attempt == key && gang->arrived <= gang->message.local);
        assert(gang->ranks.count <= gang->arrived);
        for (size_t i = 0; i < gang->ranks.count; i++) {
            const struct gw_attempt *run = gang->ranks.items[i];
            assert(run->gang == gang && run->list);
            if (run->state == GW_ATTEMPT_RUNNING)
                assert(gang->state != GW_GANG_FORMING);
        }
    }
}

struct sums {
    uint64_t resident, spilled, spilling, descriptors, listed;
};

static void check_object(const struct gw_object *object, struct sums *sums)
{
    bool closed = object->state == GW_OBJECT_SPILLED || object->state == GW_OBJECT_OPENING;
    bool memory = object->state == GW_OBJECT_RESIDENT || object->state == GW_OBJECT_SPILLING;
    assert(object->state != GW_OBJECT_GONE && object->pins <= object->users);
    assert(closed ? !object->token && !object->value
                  : (object->token != 0) != (object->value != NULL));
    assert((object->file != 0) == (object->state != GW_OBJECT_RESIDENT));
    assert(object->state != GW_OBJECT_SPILLED || !object->users);
    assert(object->state != GW_OBJECT_OPEN || object->users);
    assert(!object->memfile ||
           (memory && object->token && object->memfile->state == GW_RESULT_MEMFD_FILLED &&
            object->memfile->bytes == object->bytes));
    assert((object->waiters.count > 0) == (object->state == GW_OBJECT_OPENING));
    assert((object->list != NULL) ==
           (object->state == GW_OBJECT_RESIDENT && object->token && !object->pins));
    *(memory ? &sums->resident : &sums->spilled) += object->bytes;
    sums->spilling += object->state == GW_OBJECT_SPILLING ? object->bytes : 0;
    sums->descriptors += object->token != 0;
    sums->listed += object->list != NULL;
}

static void check_objects(const struct gw_node_core *core)
{
    size_t at = 0, inner;
    uint64_t key, value;
    struct sums sums = {0};
    while (gw_map_next(&core->jobs, &at, &key, &value)) {
        const struct gw_node_job *job = (struct gw_node_job *)(uintptr_t)value;
        for (inner = 0; gw_map_next(&job->objects, &inner, &key, &value);) {
            const struct gw_object *object = (struct gw_object *)(uintptr_t)value;
            assert(object->job == job && (!object->released || object->users));
            check_object(object, &sums);
        }
        assert(job->specs.count || job->objects.count || job->fetches.count);
    }
    for (size_t i = 0; i < core->replaced.count; i++) {
        assert(!core->replaced.items[i]->job && core->replaced.items[i]->users);
        check_object(core->replaced.items[i], &sums);
    }
    const struct gw_memory *memory = &core->memory;
    assert(sums.resident == memory->resident_bytes && sums.spilled == memory->spilled_bytes);
    assert(sums.resident + sums.spilled == core->object_bytes);
    assert(sums.spilling == memory->spilling_bytes && sums.descriptors == memory->descriptors);
    assert(sums.listed == memory->unused.count + memory->wanted.count);
    for (size_t i = 0; i < core->fetches.count; i++) {
        assert(core->fetches.items[i]->state != GW_FETCH_GONE);
        assert(core->fetches.items[i]->waiters.count ||
               core->fetches.items[i]->replica_requests.count);
    }
}

void gw_node_core_check(const struct gw_node_core *core)
{
    uint32_t slots = 0, bound = 0, lent = 0, parked = 0;
    size_t runs = core->waiting.count + core->alone.count + core->held.count, known;
    check_list(core, &core->waiting, GW_SM_NEXT(GW_ATTEMPT_WAITING));
    check_list(core, &core->alone, GW_SM_NEXT(GW_ATTEMPT_READY));
    check_list(core, &core->held,
               GW_SM_NEXT(GW_ATTEMPT_STARTING) | GW_SM_NEXT(GW_ATTEMPT_RANK_READY) |
                   GW_SM_NEXT(GW_ATTEMPT_ENDING));
    gw_node_actors_check(core, &runs);
    for (const struct gw_attempt *run = core->held.first; run; run = run->next)
        bound += run->holds_slots ? run->spec->slots : 0;
    slots = bound;
    assert(core->scheduler_slow || !core->throttled.count);
    for (size_t i = 0; i < core->processes.count; i++) {
        slots += check_process(core, core->processes.items[i], &bound);
        lent += core->processes.items[i]->lent;
        parked +=
            core->processes.items[i]->parked && core->processes.items[i]->state == GW_PROCESS_IDLE;
        runs += core->processes.items[i]->queue.count;
    }
    assert(slots == core->slots_used && bound <= core->options.slots && lent == core->lent);
    assert(parked <= core->options.slots);
    for (size_t i = 0; i < core->pools.count; i++) {
        check_pool(core, core->pools.items[i]);
        runs += core->pools.items[i]->ready.count;
    }
    check_gangs(core);
    check_objects(core);
    gw_gpus_check(core);
    gw_workdir_retention_check(core);
    gw_result_memfd_check(core);
    known = core->attempts.count;
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->gangs, &at, &key, &value))
        known += ((const struct gw_gang *)(uintptr_t)value)->ranks.count;
    assert(runs == known && core->orphans.count == 0 && core->bound.count == 0);
    assert(!core->ended.count && !core->supplied.count && !core->ended_actors.count);
}
