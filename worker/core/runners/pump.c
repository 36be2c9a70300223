/* The pump: starts runners and commands, and decides which idle runners give up their slots.
 *
 * Invariants: slots_used counts the slots of processes that are not reaped (except those whose task
 * waits for other tasks) and of prepared ranks of commands. It is at most the number of slots of
 * the worker, unless tasks continue after such a wait. In that case, idle runners beyond the limit
 * get no work. Work starts in order of arrival, pool by pool. If older work finds no free slots,
 * younger work does not start before an idle runner could be ended for the older work. Work without
 * slots does not wait for slots, so it starts first. */
#include "worker/core/runners/pump.h"

#include "worker/core/model/attempt.h"
#include "worker/core/processes/gpu.h"
#include "worker/core/processes/memory_limits.h"
#include "worker/core/processes/process.h"
#include "worker/core/processes/spawn.h"
#include "worker/core/processes/turn.h"
#include "worker/core/runners/feed.h"
#include "worker/core/runners/idle_runner.h"
#include "worker/core/runners/runner_pool.h"

#include <stdlib.h>

enum {
    ROUNDS_MAX = 16 /* the most rounds in one step in which parked runners (idle runners without
                       slots) get slots and work again */
};
#define EVICT_GRACE_NS UINT64_C(200000000)

/* A request for a process: an attempt that needs its own process (pool is NULL, or the pool of a
 * runner), or a pool with ready tasks (run is NULL). */
struct claim {
    struct gw_attempt *run;
    struct gw_runner_pool *pool;
    uint64_t serial;
    uint32_t slots;
    bool starves; /* none of its work progresses while it waits */
};

/* Returns true if a pool needs another runner. If the worker uses more slots than it has, an idle
 * runner waits for slots, and another runner would have to wait, too. A runner that was just woken
 * is about to get work. */
static bool pool_claims(const struct gw_node_core *core, const struct gw_runner_pool *pool)
{
    const bool overdrawn = core->slots_used > core->options.slots;
    size_t idle = 0;
    for (size_t i = 0; (overdrawn || core->woken) && i < pool->runners.count; i++) {
        const struct gw_process *process = pool->runners.items[i];
        idle += process->state == GW_PROCESS_IDLE && (overdrawn || process->woken);
    }
    return pool->ready.count > pool->starting + idle && pool->program->code == 0;
}

static struct gw_process *idle_runner(const struct gw_node_core *core, struct gw_runner_pool *pool)
{
    for (size_t i = 0; i < pool->runners.count; i++)
        if (pool->runners.items[i]->state == GW_PROCESS_IDLE && pool->runners.items[i]->link &&
            !pool->runners.items[i]->parked && gw_feed_room(core, pool->runners.items[i]))
            return pool->runners.items[i];
    return NULL;
}

/* Returns true if a process for this attempt would have to wait until its GPUs are free. */
static bool waits_for_gpus(const struct gw_node_core *core, const struct gw_attempt *run)
{
    return run->gpu_count && !gw_gpu_lets(core, run->spec, run->gpus, run->gpu_count);
}

/* Returns true if an attempt that needs its own process must wait for its GPUs. An idle runner of
 * its pool is on the GPUs already, so no wait is needed. */
static bool alone_waits(struct gw_node_core *core, const struct gw_attempt *run)
{
    return waits_for_gpus(core, run) && !(run->pool && idle_runner(core, run->pool));
}

/* Returns true if no runner of a pool can execute tasks: the pool has no runner, or all its
 * runners are idle and without slots. */
static bool stands_still(const struct gw_runner_pool *pool)
{
    for (size_t i = 0; i < pool->runners.count; i++)
        if (!pool->runners.items[i]->parked)
            return false;
    return true;
}

/* Finds the oldest request for a process. If memory is short, only ranks start, since the other
 * ranks of their gang wait for them. A pool may get a further runner although one is idle (that one
 * gets work in the next round), but not on GPUs that the idle one occupies. */
static bool oldest_claim(struct gw_node_core *core, struct claim *claim)
{
    bool holds = gw_memory_limits_holds(core);
    *claim = (struct claim){.serial = UINT64_MAX};
    struct gw_attempt *run = core->alone.first;
    while (run &&
           ((run->pool && run->pool->program->code != 0) || /* the program is being fetched */
            (holds && !run->gang) || alone_waits(core, run)))
        run = run->next;
    if (run)
        *claim = (struct claim){run, run->pool, run->serial, run->spec->slots, true};
    for (size_t i = 0; i < core->pools.count && !holds && (!run || claim->slots); i++) {
        struct gw_runner_pool *pool = core->pools.items[i];
        if (pool_claims(core, pool) &&
            (pool->ready.first->serial < claim->serial || !pool->like->slots) &&
            gw_memory_limits_lets(core, pool->ready.first) &&
            !waits_for_gpus(core, pool->ready.first))
            *claim = (struct claim){NULL, pool, pool->ready.first->serial, pool->like->slots,
                                    stands_still(pool)};
    }
    return claim->serial != UINT64_MAX;
}

/* Parks or ends idle runners, those longest idle first, until the slots are free or will soon be
 * free. Returns false if there are not enough idle runners. */
static bool make_room(struct gw_node_core *core, uint32_t slots)
{
    int64_t coming = (int64_t)core->options.slots - core->slots_used;
    for (size_t i = 0; i < core->processes.count; i++)
        if (core->processes.items[i]->reaping && !core->processes.items[i]->lent &&
            !core->processes.items[i]->parked &&
            core->processes.items[i]->state != GW_PROCESS_REAPED)
            coming += core->processes.items[i]->slots;
    while (coming < (int64_t)slots) {
        struct gw_process *victim = NULL;
        for (size_t i = 0; i < core->processes.count; i++) {
            struct gw_process *process = core->processes.items[i];
            if (process->state == GW_PROCESS_IDLE && !process->parked && !process->woken &&
                process->slots && (!victim || process->idle_since_ns < victim->idle_since_ns))
                victim = process;
        }
        if (!victim)
            return false;
        coming += victim->slots;
        if (!gw_idle_runner_put(core, victim))
            gw_process_reap(core, victim, EVICT_GRACE_NS);
    }
    return true;
}

static void take_alone(struct gw_node_core *core, struct gw_attempt *run)
{
    struct gw_process *idle = run->pool ? idle_runner(core, run->pool) : NULL;
    gw_attempt_pull(run);
    if (!run->gang)
        gw_memory_limits_on_begun(core);
    if (idle) {
        gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_STARTING);
        gw_process_give(core, idle, run);
        gw_attempt_bind(core, run);
    } else if (run->pool) {
        gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_STARTING);
        gw_spawn_process(core, run->pool, run, NULL);
    } else if (run->gang) { /* a rank that is a command: its slots are reserved until the gang
                               starts */
        gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_STARTING);
        run->holds_slots = true;
        core->slots_used += run->spec->slots;
        gw_attempt_push(&core->held, run);
        gw_attempt_bind(core, run);
    } else {
        gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_RUNNING);
        gw_spawn_process(core, NULL, run, NULL);
    }
}

/* Gives slots to the requests of pools in the order of their age. Returns false if there are no
 * free slots for the oldest request. Parked runners (idle runners without slots) that get slots
 * here get work in the next round. */
static bool serve(struct gw_node_core *core)
{
    struct claim claim;
    struct gw_process *behind;
    while (oldest_claim(core, &claim)) {
        bool room = !claim.slots || core->slots_used + claim.slots <= core->options.slots;
        bool warm = claim.run && claim.pool && idle_runner(core, claim.pool);
        if (claim.slots > core->options.slots) {
            char *text = gw_attempt_text("the task needs %u slots, and this worker has only %u",
                                         claim.slots, core->options.slots);
            gw_runner_pool_refuse(core, claim.run ? claim.run : claim.pool->ready.first, text, 0);
            free(text);
        } else if (!room && !warm && claim.run && (behind = gw_turn_behind(core, claim.run))) {
            gw_attempt_pull(claim.run);
            gw_memory_limits_on_begun(core);
            gw_sm_move(&gw_attempt_sm, &claim.run->state, GW_ATTEMPT_RUNNING);
            gw_spawn_process(core, NULL, claim.run, behind);
        } else if (!room && !warm) {
            if (make_room(core, claim.slots) &&
                core->slots_used + claim.slots <= core->options.slots)
                continue; /* parking runners has freed enough slots */
            core->starving_serial = claim.starves ? claim.serial : UINT64_MAX;
            return false;
        } else if (claim.run) {
            if (!warm && claim.pool)
                (void)gw_idle_runner_wake(core, claim.pool);
            take_alone(core, claim.run);
        } else if (!gw_idle_runner_wake(core, claim.pool)) {
            gw_spawn_process(core, claim.pool, NULL, NULL);
        }
    }
    core->starving_serial = UINT64_MAX;
    return true;
}

static void fail_programs(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->pools.count; i++) {
        struct gw_runner_pool *pool = core->pools.items[i];
        const struct gw_program *program = pool->program;
        if (program->code == 0 || program->code == GW_EAGAIN)
            continue;
        gw_runner_pool_fail(core, pool, program->text, NULL);
        for (struct gw_attempt *run = core->alone.first, *next; run; run = next) {
            next = run->next;
            if (run->pool == pool)
                gw_runner_pool_refuse(core, run, program->text, 0);
        }
    }
}

static void refuse_adders(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->pools.count; i++)
        for (struct gw_attempt *run = core->pools.items[i]->ready.first, *next; run; run = next) {
            next = run->next;
            if (!gw_memory_limits_lets(core, run))
                gw_memory_limits_refuse(core, run);
        }
    gw_memory_limits_settle(core); /* the scheduler may now send the next task */
}

bool gw_pump_begin(struct gw_node_core *core)
{
    if (!core->supervisor || core->exited || core->shutting_down)
        return false;
    fail_programs(core);
    if (gw_memory_limits_refuses(core))
        refuse_adders(core);
    if (core->options.gpu_count)
        gw_gpu_pump(core);
    return true;
}

void gw_pump_runners(struct gw_node_core *core)
{
    gw_feed_actors(core);
    for (int round = 0; round < 2 || (core->woken && round < ROUNDS_MAX); round++) {
        uint64_t starving = core->starving_serial;
        for (size_t i = 0; i < core->pools.count && !gw_memory_limits_holds(core); i++)
            if (core->pools.items[i]->ready.first)
                gw_feed_pool(core, core->pools.items[i]);
        gw_idle_runner_rest(core);
        serve(core);
        if (core->starving_serial <= starving && !core->woken)
            break; /* nothing that was held back can start now */
    }
}
