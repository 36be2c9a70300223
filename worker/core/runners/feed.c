/* Feeds runners: decides which runner gets which tasks, and how many at a time. */
#include "worker/core/runners/feed.h"

#include "graph/wire/frame.h"
#include "worker/core/model/attempt.h"
#include "worker/core/processes/memory_limits.h"
#include "worker/core/processes/process.h"
#include "worker/core/runners/batch.h"
#include "worker/core/runners/runner_pool.h"

#include <stdlib.h>

enum {
    BATCH_ROWS_MAX = 512,
    BATCH_BYTES_MAX = GW_FRAME_BYTES_MAX / 4,
    BATCH_TOKENS_MAX = GW_FRAME_FDS_MAX, /* per batch of several tasks */
    ROW_TOKENS_MAX = 4096,               /* per task */
};
/* Maximum expected duration of the work that is queued at a runner */
#define LOAD_MAX_NS UINT64_C(2000000)

bool gw_feed_room(const struct gw_node_core *core, const struct gw_process *process)
{
    if (core->slots_used <= core->options.slots || !process->slots)
        return true;
    uint32_t idle = 0;
    for (size_t i = 0; i < core->processes.count; i++)
        if (core->processes.items[i]->state == GW_PROCESS_IDLE && !core->processes.items[i]->parked)
            idle += core->processes.items[i]->slots;
    return core->slots_used - idle + process->slots <= core->options.slots;
}

static uint64_t load_of(const struct gw_attempt *run)
{
    const struct gw_node_spec *spec = run->spec;
    uint64_t cost_ns = run->actor ? run->actor->cost_ns : spec->cost_ns;
    if (cost_ns >= LOAD_MAX_NS ||
        spec->message.time_limit_ns) /* the cost is unknown or high, or the task has a time limit */
        return LOAD_MAX_NS;
    return cost_ns + 1;
}

static bool takes_work(const struct gw_node_core *core, const struct gw_process *process)
{
    if (!process->link || process->lent || process->parked)
        return false;
    const struct gw_attempt *run = process->queue.first;
    if (process->state == GW_PROCESS_IDLE)
        return gw_feed_room(core, process);
    /* A task that continued after a wait may use more slots than the worker has: queue no other
     * task in its runner. A task without slots has a runner of its own. */
    return process->state == GW_PROCESS_BUSY && process->slots && run && !run->gang &&
           !run->killing && !run->spec->message.actor && !process->runs_long &&
           !(process->woke && core->slots_used > core->options.slots);
}

static size_t row_bytes(const struct gw_attempt *run, uint32_t *tokens)
{
    size_t bytes = run->args_size + 64;
    for (uint32_t d = 0; d < run->dep_count; d++) {
        const struct gw_object *object = run->deps[d].object;
        *tokens += object && object->token;
        bytes += 32 + (object ? (object->token ? 0 : object->bytes) : run->deps[d].value_size);
    }
    return bytes;
}

/* A batch of tasks that a runner is about to get. */
struct batch {
    struct gw_process *process;
    struct gw_attempt *runs[BATCH_ROWS_MAX];
    uint64_t number;
    uint32_t count, tokens;
    size_t bytes;
};

/* Adds an attempt to the batch and to the runner's queue. Returns false if there is no room for it.
 */
static bool batch_add(struct gw_node_core *core, struct batch *batch, struct gw_attempt *run)
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
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_SENT);
    run->batch = batch->number;
    run->batch_row = batch->count;
    batch->runs[batch->count++] = run;
    batch->bytes += bytes;
    batch->tokens += tokens;
    return true;
}

/* Counts `dep` as an input that is made within the batch. Returns true if the batch now makes all
 * missing inputs of the successor. */
static bool has_all(const struct batch *batch, const struct gw_attempt_input *dep)
{
    struct gw_attempt *run = dep->successor;
    if (run->state != GW_ATTEMPT_WAITING)
        return false;
    if (run->batch != batch->number)
        run->batch_deps = 0;
    run->batch = batch->number;
    return ++run->batch_deps == run->missing;
}

/* Adds successors to the batch behind the attempts that make their inputs, so that the inputs do
 * not leave the runner. If `spread` is true, at most one successor follows each attempt: a chain
 * then stays in one runner, while a fan is spread over several runners. If `spread` is false, the
 * other runners have enough work, and all successors follow. */
static void batch_add_successors(struct gw_node_core *core, struct batch *batch, uint32_t from,
                                 bool spread)
{
    struct gw_runner_pool *pool = batch->process->pool;
    for (uint32_t at = from; at < batch->count; at++) {
        bool followed = false;
        for (struct gw_attempt_input *dep = batch->runs[at]->first_successor; dep;
             dep = dep->next) {
            struct gw_attempt *run = dep->successor;
            if (!has_all(batch, dep) || (followed && spread) || run->serial > core->starving_serial)
                continue;
            gw_runner_pool_find(core, run);
            uint32_t tokens = 0;
            (void)row_bytes(run, &tokens);
            if (run->pool != pool || tokens > BATCH_TOKENS_MAX ||
                !gw_runner_pool_has_function(pool, run->spec))
                continue;
            if (!batch_add(core, batch, run))
                return;
            followed = true;
        }
    }
}

void gw_feed_process(struct gw_node_core *core, struct gw_process *process,
                     struct gw_attempts *from, size_t share)
{
    struct batch batch;
    struct gw_runner_pool *pool = process->pool;
    batch.process = process;
    batch.number = ++core->batch;
    batch.count = batch.tokens = 0;
    batch.bytes = 0;
    bool spread = from->count < 2 * share;
    if (from == &pool->ready && gw_memory_limits_lets_one(core))
        share = 1;
    for (size_t taken = 0; from->first && taken < share; taken++) {
        struct gw_attempt *run = from->first;
        uint32_t tokens = 0, at = batch.count;
        (void)row_bytes(run, &tokens);
        if (from == &pool->ready && ((run->serial > core->starving_serial && process->slots) ||
                                     !gw_memory_limits_lets(core, run)))
            break;
        if (!gw_runner_pool_has_function(pool, run->spec)) {
            char *text = gw_attempt_text("the program has no task function \"%s\": it must be "
                                         "declared by GW_TASK in the program that runs",
                                         run->spec->message.function);
            gw_runner_pool_refuse(core, run, text, 0);
            free(text);
            continue;
        }
        if (tokens > ROW_TOKENS_MAX) {
            gw_runner_pool_refuse(
                core, run,
                "the task has more than 4096 inputs of more than 4 KiB each: merge them in steps",
                0);
            continue;
        }
        if (!batch_add(core, &batch, run))
            break;
        if (from == &pool->ready)
            batch_add_successors(core, &batch, at, spread);
    }
    if (!batch.count)
        return;
    if (from == &pool->ready)
        gw_memory_limits_on_begun(core);
    gw_batch_send(core, process, batch.runs, batch.count);
}

/* Gives tasks to idle runners first, so that no task waits behind another one while a runner is
 * idle. */
void gw_feed_pool(struct gw_node_core *core, struct gw_runner_pool *pool)
{
    size_t left = 0;
    for (size_t i = 0; i < pool->runners.count; i++)
        left += takes_work(core, pool->runners.items[i]);
    for (int idle = 1; idle >= 0; idle--)
        for (size_t i = 0; i < pool->runners.count && pool->ready.first; i++) {
            struct gw_process *process = pool->runners.items[i];
            if (gw_memory_limits_holds(core) || !takes_work(core, process) ||
                (process->state == GW_PROCESS_IDLE) != idle)
                continue;
            gw_feed_process(core, process, &pool->ready,
                            (pool->ready.count + left - 1) / (left ? left : 1));
            left -= left > 0;
        }
}

/* Returns the number of calls that can be sent now. A call cannot be sent while a call that came
 * earlier waits for its inputs. */
static size_t callable(const struct gw_node_core *core, const struct gw_node_actor *actor)
{
    const struct gw_attempt *waits = core->waiting.first;
    while (waits && waits->actor != actor)
        waits = waits->next;
    if (!waits)
        return actor->calls.count;
    size_t count = 0;
    const struct gw_attempt *run = actor->calls.first;
    for (; run && run->serial < waits->serial; run = run->next)
        count++;
    return count;
}

void gw_feed_actors(struct gw_node_core *core)
{
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->actors, &at, &key, &value)) {
        struct gw_node_actor *actor = (struct gw_node_actor *)(uintptr_t)value;
        struct gw_process *process = actor->process;
        if (actor->calls.first && process->state == GW_PROCESS_BUSY && process->link &&
            !process->reaping && !process->runs_long &&
            actor->run->state == GW_ATTEMPT_RANK_READY) {
            size_t before = process->queue.count;
            gw_feed_process(core, process, &actor->calls, callable(core, actor));
            if (!before && process->queue.count) {
                process->started_told = false;
                process->head_since_ns = core->now_ns;
            }
        }
    }
}
