/* Pools: which runner gets which work, when a runner starts, and which idle one makes room.
 *
 * Always: slots_used, the slots of processes not buried (those whose task waits for others apart)
 * and of prepared command ranks, is at most the worker's, but for tasks that run on after such a
 * wait: then idle runners beyond that get no work. Work starts in the order in which it came, pool
 * by pool: what is older and has no room stops what is younger from being handed out, until an idle
 * runner could be ended for it. */
#include "worker/core/pool.h"

#include "graph/base/planted.h"
#include "graph/wire/frame.h"
#include "worker/core/actor.h"
#include "worker/core/batch.h"
#include "worker/core/core.h"
#include "worker/core/gang.h"
#include "worker/core/gpu.h"
#include "worker/core/job.h"
#include "worker/core/memory.h"
#include "worker/core/nested.h"
#include "worker/core/park.h"
#include "worker/core/process.h"
#include "worker/core/run.h"
#include "worker/core/turn.h"

#include <stdlib.h>
#include <string.h>

enum {
    BATCH_ROWS_MAX = 512,
    BATCH_BYTES_MAX = GW_FRAME_BYTES_MAX / 4,
    BATCH_TOKENS_MAX = GW_FRAME_FDS_MAX, /* of a batch of several */
    ROW_TOKENS_MAX = 4096,               /* of one row */
    ROUNDS_MAX = 16,                     /* of parked runners that are woken and fed, a step */
};
#define LOAD_MAX_NS UINT64_C(2000000) /* how much work a runner is sent ahead */
#define EVICT_GRACE_NS UINT64_C(200000000)

/* -- Finding -------------------------------------------------------------------------------------
 */

static bool same_bin(struct gw_bin a, struct gw_bin b)
{
    return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}

static bool fits(const struct gw_pool *pool, const struct gw_node_spec *spec,
                 const struct gw_run *run)
{
    return pool->program == spec->program && pool->like->slots == spec->slots &&
           pool->like->message.gpu_share == spec->message.gpu_share &&
           pool->like->message.memory_bytes == spec->message.memory_bytes &&
           (pool->like->message.unbound == spec->message.unbound || !run->gpu_count) &&
           pool->gpu_count == run->gpu_count &&
           (!run->gpu_count ||
            memcmp(pool->gpus, run->gpus, run->gpu_count * sizeof *run->gpus) == 0) &&
           same_bin(pool->like->message.env, spec->message.env) &&
           strcmp(pool->like->message.cwd, spec->message.cwd) == 0;
}

struct gw_pool *gw_pool_for(struct gw_node_core *core, struct gw_node_spec *spec,
                            const struct gw_run *run)
{
    for (size_t i = 0; i < core->pools.count; i++)
        if (fits(core->pools.items[i], spec, run))
            return core->pools.items[i];
    struct gw_pool *pool = gw_core_alloc(sizeof *pool);
    pool->program = spec->program;
    pool->like = spec;
    spec->refs++;
    pool->gpu_count = run->gpu_count;
    pool->gpus = gw_core_alloc(run->gpu_count * sizeof *pool->gpus);
    if (run->gpu_count)
        memcpy(pool->gpus, run->gpus, run->gpu_count * sizeof *pool->gpus);
    GW_MUST(gw_array_push(&core->pools, pool));
    return pool;
}

void gw_pool_free(struct gw_pool *pool)
{
    gw_array_deinit(&pool->runners);
    gw_strmap_deinit(&pool->functions);
    gw_spec_unref(pool->like);
    free(pool->gpus);
    free(pool);
}

void gw_pool_tidy(struct gw_node_core *core, struct gw_pool *pool)
{
    if (pool->run_count || pool->process_count)
        return;
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->jobs, &at, &key, &value)) {
        struct gw_node_job *job = (struct gw_node_job *)(uintptr_t)value;
        for (size_t i = 0; i < job->specs.count; i++)
            if (job->specs.items[i] && job->specs.items[i]->pool == pool)
                job->specs.items[i]->pool = NULL;
    }
    for (size_t i = 0; i < core->pools.count; i++)
        if (core->pools.items[i] == pool) {
            gw_array_remove_swap(&core->pools, i);
            break;
        }
    gw_pool_free(pool);
}

/* A program that is there, and a function in it; to be asked once a runner has said hello. */
static bool has_function(struct gw_pool *pool, struct gw_node_spec *spec)
{
    if (!spec->function_known)
        spec->function_known =
            gw_strmap_get(&pool->functions, spec->message.function, &spec->result_bytes);
    return spec->function_known;
}

bool gw_pool_admits(struct gw_node_core *core, struct gw_process *process, struct gw_run *run)
{
    if (has_function(process->pool, run->spec))
        return true;
    run->end = (struct gw_run_end){.outcome = GW_OUTCOME_CANNOT_START, .code = GW_ESTART};
    run->end.text =
        gw_run_text("the program holds no function \"%s\"", run->spec->message.function);
    gw_run_tell(core, run);
    gw_process_next(core, process);
    return false;
}

/* For all specs that name the function: each job has its own. */
void gw_pool_learn(struct gw_pool *pool, struct gw_node_spec *spec, uint64_t result_bytes)
{
    if (spec->result_bytes == result_bytes)
        return;
    spec->result_bytes = result_bytes;
    GW_MUST(gw_strmap_put(&pool->functions, spec->message.function, result_bytes));
}

/* -- Failing -------------------------------------------------------------------------------------
 */

static void cannot_start(struct gw_node_core *core, struct gw_run *run, const char *text,
                         uint64_t capture)
{
    struct gw_run_end end = {.outcome = GW_OUTCOME_CANNOT_START, .code = GW_ESTART};
    end.capture = capture;
    end.text = gw_core_strdup(text);
    gw_run_end(core, run, end, 0);
}

void gw_pool_fail(struct gw_node_core *core, struct gw_pool *pool, const char *text,
                  const struct gw_process *process)
{
    pool->start_failures = 0;
    while (pool->ready.first)
        cannot_start(core, pool->ready.first, text, process ? process->id : 0);
}

/* -- Feeding runners -----------------------------------------------------------------------------
 */

static uint64_t load_of(const struct gw_run *run)
{
    const struct gw_node_spec *spec = run->spec;
    uint64_t cost_ns = run->actor ? run->actor->cost_ns : spec->cost_ns;
    if (cost_ns >= LOAD_MAX_NS || spec->message.wall_ns) /* unknown, long, or timed */
        return LOAD_MAX_NS;
    return cost_ns + 1;
}

static bool takes_work(const struct gw_node_core *core, const struct gw_process *process)
{
    if (!process->link || process->lent || (process->parked && !GW_PLANTED(681)))
        return false;
    const struct gw_run *run = process->queue.first;
    if (process->state == GW_PROCESS_IDLE)
        return gw_nested_room(core, process);
    /* Nothing queues for a slot that is overdrawn. */
    return process->state == GW_PROCESS_BUSY && run && !run->gang && !run->killing &&
           !run->spec->message.actor && !process->runs_long &&
           !(process->woke && core->slots_used > core->options.slots);
}

static size_t row_bytes(const struct gw_run *run, uint32_t *tokens)
{
    size_t bytes = run->args_size + 64;
    for (uint32_t d = 0; d < run->dep_count; d++) {
        const struct gw_object *object = run->deps[d].object;
        *tokens += object && object->token;
        bytes += 32 + (object ? (object->token ? 0 : object->bytes) : run->deps[d].value_size);
    }
    return bytes;
}

/* What one runner is about to be sent. */
struct batch {
    struct gw_process *process;
    struct gw_run *runs[BATCH_ROWS_MAX];
    uint64_t number;
    uint32_t count, tokens;
    size_t bytes;
};

/* Puts a run into the batch and the runner's queue; false where there is no room for it. */
static bool batch_add(struct gw_node_core *core, struct batch *batch, struct gw_run *run)
{
    struct gw_process *process = batch->process;
    uint32_t tokens = 0;
    size_t bytes = row_bytes(run, &tokens);
    if (batch->count == BATCH_ROWS_MAX ||
        (batch->count &&
         (batch->bytes + bytes > BATCH_BYTES_MAX || batch->tokens + tokens > BATCH_TOKENS_MAX)))
        return false;
    run->load_ns = load_of(run);
    if (process->queue.count &&
        (process->load_ns + run->load_ns > LOAD_MAX_NS || process->queue.count >= BATCH_ROWS_MAX))
        return false;
    gw_process_give(core, process, run);
    gw_sm_move(&gw_run_sm, &run->state, GW_RUN_SENT);
    run->batch = batch->number;
    run->batch_row = batch->count;
    batch->runs[batch->count++] = run;
    batch->bytes += bytes;
    batch->tokens += tokens;
    return true;
}

/* Whether all that an heir waits for is in the batch, once more with `dep`. */
static bool has_all(const struct batch *batch, const struct gw_run_dep *dep)
{
    struct gw_run *run = dep->heir;
    if (run->state != GW_RUN_WAITING)
        return false;
    if (run->batch != batch->number)
        run->batch_deps = 0;
    run->batch = batch->number;
    return ++run->batch_deps == run->missing;
}

/* Sends heirs along behind what they wait for, so that no hop leaves the runner. One follows each
 * run, more where the others have enough to do: a chain stays in one runner, a fan spreads. */
static void batch_add_heirs(struct gw_node_core *core, struct batch *batch, uint32_t from,
                            bool spread)
{
    struct gw_pool *pool = batch->process->pool;
    for (uint32_t at = from; at < batch->count; at++) {
        bool followed = false;
        for (struct gw_run_dep *dep = batch->runs[at]->first_heir; dep; dep = dep->next) {
            struct gw_run *run = dep->heir;
            if (!has_all(batch, dep) || (followed && spread) || run->serial > core->starving_serial)
                continue;
            gw_run_find_pool(core, run);
            uint32_t tokens = 0;
            (void)row_bytes(run, &tokens);
            if (run->pool != pool || tokens > BATCH_TOKENS_MAX || !has_function(pool, run->spec))
                continue;
            if (!batch_add(core, batch, run))
                return;
            followed = true;
        }
    }
}

void gw_pool_feed(struct gw_node_core *core, struct gw_process *process, struct gw_runs *from,
                  size_t share)
{
    struct batch batch;
    struct gw_pool *pool = process->pool;
    batch.process = process;
    batch.number = ++core->batch;
    batch.count = batch.tokens = 0;
    batch.bytes = 0;
    bool spread = from->count < 2 * share;
    if (from == &pool->ready && gw_memory_lets_one(core))
        share = 1;
    for (size_t taken = 0; from->first && taken < share; taken++) {
        struct gw_run *run = from->first;
        uint32_t tokens = 0, at = batch.count;
        (void)row_bytes(run, &tokens);
        if (from == &pool->ready &&
            (run->serial > core->starving_serial || !gw_memory_lets(core, run)))
            break;
        if (!has_function(pool, run->spec)) {
            char *text =
                gw_run_text("the program holds no function \"%s\"", run->spec->message.function);
            cannot_start(core, run, text, 0);
            free(text);
            continue;
        }
        if (tokens > ROW_TOKENS_MAX) {
            cannot_start(core, run,
                         "it has more than 4096 inputs of more than 4 KiB: merge them in steps", 0);
            continue;
        }
        if (!batch_add(core, &batch, run))
            break;
        if (from == &pool->ready)
            batch_add_heirs(core, &batch, at, spread);
    }
    if (!batch.count)
        return;
    if (from == &pool->ready)
        gw_memory_on_begun(core);
    gw_batch_send(core, process, batch.runs, batch.count);
}

/* Idle runners first, so that nothing waits behind another task while one of them is free. */
static void feed_pool(struct gw_node_core *core, struct gw_pool *pool)
{
    size_t left = 0;
    for (size_t i = 0; i < pool->runners.count; i++)
        left += takes_work(core, pool->runners.items[i]);
    for (int idle = 1; idle >= 0; idle--)
        for (size_t i = 0; i < pool->runners.count && pool->ready.first; i++) {
            struct gw_process *process = pool->runners.items[i];
            if (gw_memory_holds(core) || !takes_work(core, process) ||
                (process->state == GW_PROCESS_IDLE) != idle)
                continue;
            gw_pool_feed(core, process, &pool->ready,
                         (pool->ready.count + left - 1) / (left ? left : 1));
            left -= left > 0;
        }
}

/* -- Starting and ending them --------------------------------------------------------------------
 */

/* Who wants a process: a run that needs its own (pool NULL or bound), or a pool with work left. */
struct claim {
    struct gw_run *run;
    struct gw_pool *pool;
    uint64_t serial;
    uint32_t slots;
    bool starves; /* nothing of it goes on while it waits */
};

/* An idle runner that stays idle waits for slots: another one would have to wait as well. One that
 * was woken is about to be fed. */
static bool pool_claims(const struct gw_node_core *core, const struct gw_pool *pool)
{
    const bool overdrawn = core->slots_used > core->options.slots;
    size_t idle = 0;
    for (size_t i = 0; (overdrawn || core->woken) && i < pool->runners.count; i++) {
        const struct gw_process *process = pool->runners.items[i];
        idle += process->state == GW_PROCESS_IDLE && (overdrawn || process->woken);
    }
    return pool->ready.count > pool->starting + idle && pool->program->code == 0;
}

static struct gw_process *idle_runner(const struct gw_node_core *core, struct gw_pool *pool)
{
    for (size_t i = 0; i < pool->runners.count; i++)
        if (pool->runners.items[i]->state == GW_PROCESS_IDLE && pool->runners.items[i]->link &&
            !pool->runners.items[i]->parked && gw_nested_room(core, pool->runners.items[i]))
            return pool->runners.items[i];
    return NULL;
}

/* Whether a process of a run's own would have to wait for its GPUs: others are, or were, there. */
static bool waits_for_gpus(const struct gw_node_core *core, const struct gw_run *run)
{
    return run->gpu_count && !gw_gpu_lets(core, run->spec, run->gpus, run->gpu_count);
}

/* One that is to be alone in its process may take an idle one, which is on its GPUs already. */
static bool alone_waits(struct gw_node_core *core, const struct gw_run *run)
{
    return waits_for_gpus(core, run) && !(run->pool && idle_runner(core, run->pool));
}

/* Whether nothing of a pool goes on: all of its runners are parked, if it has any. */
static bool stands_still(const struct gw_pool *pool)
{
    for (size_t i = 0; i < pool->runners.count; i++)
        if (!pool->runners.items[i]->parked)
            return false;
    return true;
}

/* Without memory only ranks start: the others of their gang wait for them. A pool may get a runner
 * though one of it is idle (that is fed in the next round), but none beside that one's GPUs. */
static bool oldest_claim(struct gw_node_core *core, struct claim *claim)
{
    bool holds = gw_memory_holds(core);
    *claim = (struct claim){.serial = UINT64_MAX};
    struct gw_run *run = core->alone.first;
    while (run && ((run->pool && run->pool->program->code != 0) || /* it is on its way */
                   (holds && !run->gang) || alone_waits(core, run)))
        run = run->next;
    if (run)
        *claim = (struct claim){run, run->pool, run->serial, run->spec->slots, true};
    for (size_t i = 0; i < core->pools.count && !holds; i++) {
        struct gw_pool *pool = core->pools.items[i];
        if (pool_claims(core, pool) && pool->ready.first->serial < claim->serial &&
            gw_memory_lets(core, pool->ready.first) && !waits_for_gpus(core, pool->ready.first))
            *claim = (struct claim){NULL, pool, pool->ready.first->serial, pool->like->slots,
                                    stands_still(pool)};
    }
    return claim->serial != UINT64_MAX;
}

/* Parks idle runners, or ends them, those longest idle first, until `slots` are free or will be. */
static bool make_room(struct gw_node_core *core, uint32_t slots)
{
    int64_t coming = (int64_t)core->options.slots - core->slots_used;
    for (size_t i = 0; i < core->processes.count; i++)
        if (core->processes.items[i]->burying && !core->processes.items[i]->lent &&
            !core->processes.items[i]->parked &&
            core->processes.items[i]->state != GW_PROCESS_BURIED)
            coming += core->processes.items[i]->slots;
    while (coming < (int64_t)slots) {
        struct gw_process *victim = NULL;
        for (size_t i = 0; i < core->processes.count; i++) {
            struct gw_process *process = core->processes.items[i];
            if (process->state == GW_PROCESS_IDLE && !process->parked && !process->woken &&
                (!victim || process->idle_since_ns < victim->idle_since_ns))
                victim = process;
        }
        if (!victim)
            return false;
        coming += victim->slots;
        if (!gw_park_put(core, victim))
            gw_process_bury(core, victim, EVICT_GRACE_NS);
    }
    return true;
}

static void take_alone(struct gw_node_core *core, struct gw_run *run)
{
    struct gw_process *idle = run->pool ? idle_runner(core, run->pool) : NULL;
    gw_run_pull(run);
    if (!run->gang)
        gw_memory_on_begun(core);
    if (idle) {
        gw_sm_move(&gw_run_sm, &run->state, GW_RUN_STARTING);
        gw_process_give(core, idle, run);
        if (run->gang)
            gw_gang_prepare(core, idle, run);
        else
            gw_node_actor_prepare(core, idle, run);
    } else if (run->pool) {
        gw_sm_move(&gw_run_sm, &run->state, GW_RUN_STARTING);
        gw_process_start(core, run->pool, run, NULL);
    } else if (run->gang) { /* a command's rank: its slot is kept until go */
        gw_sm_move(&gw_run_sm, &run->state, GW_RUN_STARTING);
        run->holds_slots = true;
        core->slots_used += run->spec->slots;
        gw_run_push(&core->held, run);
        gw_gang_prepare(core, NULL, run);
    } else {
        gw_sm_move(&gw_run_sm, &run->state, GW_RUN_RUNNING);
        gw_process_start(core, NULL, run, NULL);
    }
}

/* Serves claims in order; false when the first that has no room must wait. Parked runners that have
 * their slots again are fed in the next round. */
static bool serve(struct gw_node_core *core)
{
    struct claim claim;
    struct gw_process *behind;
    while (oldest_claim(core, &claim)) {
        bool room = core->slots_used + claim.slots <= core->options.slots;
        bool warm = claim.run && claim.pool && idle_runner(core, claim.pool);
        if (GW_PLANTED(390) && claim.run && !claim.pool && core->slots_used)
            room = true;
        if (claim.slots > core->options.slots) {
            char *text = gw_run_text("it needs %u slots, this worker has %u", claim.slots,
                                     core->options.slots);
            cannot_start(core, claim.run ? claim.run : claim.pool->ready.first, text, 0);
            free(text);
        } else if (!room && !warm && claim.run && (behind = gw_turn_behind(core, claim.run))) {
            gw_run_pull(claim.run);
            gw_memory_on_begun(core);
            gw_sm_move(&gw_run_sm, &claim.run->state, GW_RUN_RUNNING);
            gw_process_start(core, NULL, claim.run, behind);
        } else if (!room && !warm) {
            if (make_room(core, claim.slots) &&
                core->slots_used + claim.slots <= core->options.slots)
                continue; /* by those that were parked */
            core->starving_serial = claim.starves ? claim.serial : UINT64_MAX;
            return false;
        } else if (claim.run) {
            if (!warm && claim.pool)
                (void)gw_park_wake(core, claim.pool);
            take_alone(core, claim.run);
        } else if (!gw_park_wake(core, claim.pool)) {
            gw_process_start(core, claim.pool, NULL, NULL);
        }
    }
    core->starving_serial = UINT64_MAX;
    return true;
}

static void fail_programs(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->pools.count; i++) {
        struct gw_pool *pool = core->pools.items[i];
        const struct gw_program *program = pool->program;
        if (program->code == 0 || program->code == GW_EAGAIN)
            continue;
        gw_pool_fail(core, pool, program->text, NULL);
        for (struct gw_run *run = core->alone.first, *next; run; run = next) {
            next = run->next;
            if (run->pool == pool)
                cannot_start(core, run, program->text, 0);
        }
    }
}

static void refuse_adders(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->pools.count; i++)
        for (struct gw_run *run = core->pools.items[i]->ready.first, *next; run; run = next) {
            next = run->next;
            if (!gw_memory_lets(core, run))
                gw_memory_refuse(core, run);
        }
    gw_memory_settle(core); /* the next one may come */
}

void gw_pool_pump(struct gw_node_core *core)
{
    if (!core->guardian || core->exited || core->shutting_down)
        return;
    fail_programs(core);
    if (gw_memory_refuses(core))
        refuse_adders(core);
    if (core->options.gpu_count) {
        gw_gpu_pump(core);
        gw_gang_pump(core);
    }
    gw_node_actor_pump(core);
    for (int round = 0; round < 2 || (core->woken && round < ROUNDS_MAX); round++) {
        uint64_t starving = core->starving_serial;
        for (size_t i = 0; i < core->pools.count && !gw_memory_holds(core); i++)
            if (core->pools.items[i]->ready.first)
                feed_pool(core, core->pools.items[i]);
        gw_park_rest(core);
        serve(core);
        if (core->starving_serial <= starving && !core->woken)
            break; /* nothing that was held back may go now */
    }
}
