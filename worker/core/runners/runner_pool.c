/* Pools of runners that can execute the same functions, and the attempts that wait for these
 * runners.
 *
 * Invariant: a pool stays as long as an attempt or a process refers to it. */
#include "worker/core/runners/runner_pool.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/job.h"
#include "worker/core/processes/process.h"
#include "worker/core/runners/actor_queue.h"

#include <stdlib.h>
#include <string.h>

/* -- Look-up -------------------------------------------------------------------------------------
 */

static bool same_bin(struct gw_bin a, struct gw_bin b)
{
    return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}

static bool fits(const struct gw_runner_pool *pool, const struct gw_node_spec *spec,
                 const struct gw_attempt *run)
{
    return pool->program == spec->program && pool->like->slots == spec->slots &&
           pool->like->message.gpu_fraction == spec->message.gpu_fraction &&
           pool->like->message.memory_bytes == spec->message.memory_bytes &&
           (pool->like->message.unbound == spec->message.unbound || !run->gpu_count) &&
           pool->gpu_count == run->gpu_count &&
           (!run->gpu_count ||
            memcmp(pool->gpus, run->gpus, run->gpu_count * sizeof *run->gpus) == 0) &&
           same_bin(pool->like->message.env, spec->message.env) &&
           strcmp(pool->like->message.cwd, spec->message.cwd) == 0;
}

struct gw_runner_pool *gw_runner_pool_for(struct gw_node_core *core, struct gw_node_spec *spec,
                                          const struct gw_attempt *run)
{
    for (size_t i = 0; i < core->pools.count; i++)
        if (fits(core->pools.items[i], spec, run))
            return core->pools.items[i];
    struct gw_runner_pool *pool = gw_core_alloc(sizeof *pool);
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

void gw_runner_pool_free(struct gw_runner_pool *pool)
{
    gw_array_deinit(&pool->runners);
    gw_strmap_deinit(&pool->functions);
    gw_spec_unref(pool->like);
    free(pool->gpus);
    free(pool);
}

static void tidy(struct gw_node_core *core, struct gw_runner_pool *pool)
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
    gw_runner_pool_free(pool);
}

void gw_runner_pool_reap(struct gw_node_core *core)
{
    for (size_t i = core->pools_left ? core->pools.count : 0; i-- > 0;)
        if (core->pools.items[i]->left) {
            core->pools.items[i]->left = false;
            tidy(core, core->pools.items[i]);
        }
    core->pools_left = false;
}

/* Returns true if the pool's program has the function. It must be called only after a runner of the
 * pool has sent its first message. */
bool gw_runner_pool_has_function(struct gw_runner_pool *pool, struct gw_node_spec *spec)
{
    if (!spec->function_known)
        spec->function_known =
            gw_strmap_get(&pool->functions, spec->message.function, &spec->result_bytes);
    return spec->function_known;
}

bool gw_runner_pool_admits(struct gw_node_core *core, struct gw_process *process,
                           struct gw_attempt *run)
{
    if (gw_runner_pool_has_function(process->pool, run->spec))
        return true;
    run->end = (struct gw_attempt_end){.outcome = GW_OUTCOME_CANNOT_START, .code = GW_ESTART};
    run->end.text = gw_attempt_text("the program has no task function \"%s\": it must be declared "
                                    "by GW_TASK in the program that runs",
                                    run->spec->message.function);
    gw_attempt_ended(core, run);
    gw_process_next(core, process);
    return false;
}

/* Stores the size for all specs that name the function, since each job has specs of its own. */
void gw_runner_pool_learn(struct gw_runner_pool *pool, struct gw_node_spec *spec,
                          uint64_t result_bytes)
{
    if (spec->result_bytes == result_bytes)
        return;
    spec->result_bytes = result_bytes;
    GW_MUST(gw_strmap_put(&pool->functions, spec->message.function, result_bytes));
}

/* -- Failed starts -------------------------------------------------------------------------------
 */

void gw_runner_pool_refuse(struct gw_node_core *core, struct gw_attempt *run, const char *text,
                           uint64_t capture)
{
    struct gw_attempt_end end = {.outcome = GW_OUTCOME_CANNOT_START, .code = GW_ESTART};
    end.capture = capture;
    end.text = gw_core_strdup(text);
    gw_process_end_attempt(core, run, end, 0);
}

void gw_runner_pool_fail(struct gw_node_core *core, struct gw_runner_pool *pool, const char *text,
                         const struct gw_process *process)
{
    pool->start_failures = 0;
    while (pool->ready.first)
        gw_runner_pool_refuse(core, pool->ready.first, text, process ? process->id : 0);
}

/* -- Queues --------------------------------------------------------------------------------------
 */

void gw_runner_pool_find(struct gw_node_core *core, struct gw_attempt *run)
{
    struct gw_node_spec *spec = run->spec;
    if (run->pool || spec->message.kind != GW_SPEC_FUNCTION)
        return;
    run->pool = spec->pool ? spec->pool : gw_runner_pool_for(core, spec, run);
    run->pool->run_count++;
    if (!run->gpu_count)
        spec->pool = run->pool;
}

void gw_runner_pool_queue(struct gw_node_core *core, struct gw_attempt *run)
{
    gw_attempt_pull(run);
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_READY);
    if (gw_actor_queue_calls(run)) {
        gw_actor_queue_put(run);
        return;
    }
    gw_runner_pool_find(core, run);
    bool alone = !run->pool || run->gang || gw_actor_queue_makes(run);
    if (alone && !run->spec->slots) /* it does not wait behind tasks that wait for slots */
        gw_attempt_push_first(&core->alone, run);
    else
        gw_attempt_push(alone ? &core->alone : &run->pool->ready, run);
}

void gw_runner_pool_queue_supplied(struct gw_node_core *core)
{
    while (core->supplied.first)
        gw_runner_pool_queue(core, core->supplied.first);
}
