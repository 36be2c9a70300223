/* GPUs: which processes are on which GPU, when a GPU is clear for the next process, and when a GPU
 * must not be used any more.
 *
 * Invariants: a process that was given whole GPUs is alone on them from its start until it is
 * reaped. The next process starts when no process of this worker is left on the GPU and, if the
 * driver sends samples, when the GPU shows no more memory and processes than before.
 *
 * A GPU that does not get clear in time is drained until it is clear. A GPU that fell off the bus,
 * or had an error after which it cannot be trusted, is drained until an administrator has reset it
 * and releases it again. The scheduler remembers such a GPU, also for later workers. Tasks on it
 * are ended and not charged. */
#include "worker/core/processes/gpu.h"

#include "graph/base/text.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/processes/process.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define CLEAR_NS (10000 * MS) /* maximum time until a GPU's memory is free again */
#define EVICT_GRACE_NS (200 * MS)
#define SLACK_BYTES (UINT64_C(64) << 20) /* the driver may keep this much */

enum { TOLD_PART = 32 /* a change of 1/32 of the memory is reported */, POWER_STEP_MW = 10000 };

static const struct gw_sm_state gpu_states[] = {
    [GW_GPU_CLEAR] = {"clear", GW_SM_NEXT(GW_GPU_HELD) | GW_SM_NEXT(GW_GPU_DRAINED)},
    [GW_GPU_HELD] = {"held", GW_SM_NEXT(GW_GPU_CLEARING) | GW_SM_NEXT(GW_GPU_DRAINED)},
    [GW_GPU_CLEARING] = {"clearing", GW_SM_NEXT(GW_GPU_CLEAR) | GW_SM_NEXT(GW_GPU_DRAINED)},
    [GW_GPU_DRAINED] = {"drained", GW_SM_NEXT(GW_GPU_CLEAR)},
};
struct gw_sm gw_gpu_sm = {"worker GPU", gpu_states, sizeof gpu_states / sizeof *gpu_states, NULL};

void gw_gpus_init(struct gw_node_core *core)
{
    if (!core->options.gpu_clear_ns)
        core->options.gpu_clear_ns = CLEAR_NS;
    core->gpus = gw_core_alloc(core->options.gpu_count * sizeof *core->gpus);
    for (uint32_t i = 0; i < core->options.gpu_count; i++) {
        core->gpus[i].idle_bytes = core->options.gpus[i].used_bytes;
        core->gpus[i].idle_processes = core->options.gpus[i].processes;
    }
}

void gw_gpus_deinit(struct gw_node_core *core)
{
    for (uint32_t i = 0; i < core->options.gpu_count; i++)
        free(core->gpus[i].why);
    free(core->gpus);
}

static const char *uuid_of(const struct gw_node_core *core, uint32_t gpu)
{
    return core->options.gpus[gpu].uuid;
}

static bool has(const uint32_t *gpus, uint32_t count, uint32_t gpu)
{
    for (uint32_t i = 0; i < count; i++)
        if (gpus[i] == gpu)
            return true;
    return false;
}

/* -- Draining ------------------------------------------------------------------------------------
 */

static void drain(struct gw_node_core *core, uint32_t number, char *why)
{
    struct gw_gpu *gpu = &core->gpus[number];
    if (gpu->state != GW_GPU_DRAINED)
        gw_sm_move(&gw_gpu_sm, &gpu->state, GW_GPU_DRAINED);
    free(gpu->why);
    gpu->why = why;
    gpu->told = false;
}

static void undrain(struct gw_gpu *gpu)
{
    gw_sm_move(&gw_gpu_sm, &gpu->state, GW_GPU_CLEAR);
    free(gpu->why);
    gpu->why = NULL;
    gpu->told = false;
}

static struct gw_attempt_end lost_its_gpu(const struct gw_node_core *core, uint32_t number)
{
    struct gw_attempt_end end = {.outcome = GW_OUTCOME_GPU, .code = GW_ELOST};
    end.text =
        gw_attempt_text("its GPU %s failed: %s", uuid_of(core, number), core->gpus[number].why);
    return end;
}

/* Ends all attempts and idle runners that are on a GPU or are to start on it. */
static void end_runs(struct gw_node_core *core, uint32_t number)
{
    for (size_t i = core->processes.count; i-- > 0;) {
        struct gw_process *process = core->processes.items[i];
        if (!has(process->gpus, process->gpu_count, number) || process->reaping)
            continue;
        if (process->queue.first)
            gw_process_end_attempt(core, process->queue.first, lost_its_gpu(core, number), 0);
        else
            gw_process_reap(core, process, 0);
    }
    for (struct gw_attempt *run = core->held.first, *next; run; run = next) {
        next = run->next;
        if (run->state == GW_ATTEMPT_RANK_READY && !run->process &&
            has(run->gpus, run->gpu_count, number))
            gw_process_end_attempt(core, run, lost_its_gpu(core, number), 0);
    }
}

/* Returns what a fatal Xid means, or NULL if it is not fatal. Xids are NVIDIA's error numbers.
 * After a fatal one, a GPU cannot be trusted until it is reset. Other errors are caused by
 * programs. */
static const char *fatal_error(uint32_t xid)
{
    switch (xid) {
    case 46:
        return "it stopped processing";
    case 48:
        return "an error in its memory that cannot be corrected";
    case 79:
        return "it fell off the bus";
    case 95:
        return "an uncontained error";
    case 119:
    case 120:
        return "its own processor does not answer";
    default:
        return NULL;
    }
}

static void broke(struct gw_node_core *core, uint32_t number, char *why)
{
    core->gpus[number].broken = true;
    core->gpus[number].given = GW_GPU_GIVEN_NOT;
    drain(core, number, why);
    end_runs(core, number);
}

static void note_errors(struct gw_node_core *core, uint32_t number,
                        const struct gw_gpu_sample *sample)
{
    struct gw_gpu *gpu = &core->gpus[number];
    for (uint32_t i = 0; i < sample->xid_count; i++) {
        const char *what = fatal_error(sample->xids[i]);
        if (what && !gpu->broken)
            broke(core, number, gw_attempt_text("Xid %" PRIu32 ": %s", sample->xids[i], what));
        for (size_t k = 0; !what && k < core->processes.count; k++)
            if (has(core->processes.items[k]->gpus, core->processes.items[k]->gpu_count, number))
                core->processes.items[k]->xid = sample->xids[i];
    }
    if (sample->lost && !gpu->broken)
        broke(core, number, gw_core_strdup("it fell off the bus"));
}

/* -- Processes on GPUs ---------------------------------------------------------------------------
 */

void gw_gpu_hold(struct gw_node_core *core, struct gw_process *process,
                 const struct gw_runner_pool *pool, const struct gw_attempt *run)
{
    uint32_t count = pool ? pool->gpu_count : run->gpu_count;
    const uint32_t *gpus = pool ? pool->gpus : run->gpus;
    if (!count)
        return;
    process->gpus = gw_core_alloc(count * sizeof *gpus);
    memcpy(process->gpus, gpus, count * sizeof *gpus);
    process->gpu_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct gw_gpu *gpu = &core->gpus[gpus[i]];
        if (gpu->processes++ == 0 && gpu->state == GW_GPU_CLEAR)
            gw_sm_move(&gw_gpu_sm, &gpu->state, GW_GPU_HELD);
        gpu->shared = (pool ? pool->like : run->spec)->message.gpu_fraction != 0;
    }
}

void gw_gpu_leave(struct gw_node_core *core, struct gw_process *process)
{
    for (uint32_t i = 0; i < process->gpu_count; i++) {
        struct gw_gpu *gpu = &core->gpus[process->gpus[i]];
        if (--gpu->processes > 0)
            continue;
        gpu->since_ns = core->now_ns;
        if (gpu->state != GW_GPU_HELD)
            continue;
        gw_sm_move(&gw_gpu_sm, &gpu->state, GW_GPU_CLEARING);
        if (!core->options.gpus_watched)
            gw_sm_move(&gw_gpu_sm, &gpu->state, GW_GPU_CLEAR);
    }
    free(process->gpus);
    process->gpus = NULL;
    process->gpu_count = 0;
}

const char *gw_gpu_cpus(struct gw_node_core *core, const struct gw_process *process,
                        const struct gw_node_spec *spec)
{
    size_t size = 1, used = 0;
    if (spec->message.unbound)
        return "";
    for (uint32_t i = 0; i < process->gpu_count; i++) {
        const char *cpus = core->options.gpus[process->gpus[i]].cpus;
        if (!*cpus)
            return "";
        size += strlen(cpus) + 1;
    }
    char *all = gw_core_scratch(core, size);
    *all = '\0';
    for (uint32_t i = 0; i < process->gpu_count; i++) {
        uint32_t gpu = process->gpus[i];
        used += (size_t)snprintf(all + used, size - used, "%s%s", i ? "," : "",
                                 core->options.gpus[gpu].cpus);
    }
    return all;
}

/* Returns true if a process with these GPUs could start now. A process with a share of a GPU may
 * start beside others that share it. */
bool gw_gpu_lets(const struct gw_node_core *core, const struct gw_node_spec *spec,
                 const uint32_t *gpus, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct gw_gpu *gpu = &core->gpus[gpus[i]];
        bool beside = spec->message.gpu_fraction && gpu->state == GW_GPU_HELD && gpu->shared;
        if (gpu->state != GW_GPU_CLEAR && !beside)
            return false;
    }
    return true;
}

/* Returns true if an idle runner of this pool is about to get work. */
static bool is_wanted(const struct gw_node_core *core, const struct gw_runner_pool *pool)
{
    for (const struct gw_attempt *run = core->alone.first; run; run = run->next)
        if (run->pool == pool)
            return true;
    return pool->ready.first != NULL;
}

/* Ends idle runners of other pools on these GPUs, since a CUDA context of an idle runner takes
 * memory that the next process needs. */
static void evict(struct gw_node_core *core, const struct gw_runner_pool *but, const uint32_t *gpus,
                  uint32_t count)
{
    for (size_t i = core->processes.count; i-- > 0;) {
        struct gw_process *process = core->processes.items[i];
        bool there = false;
        for (uint32_t k = 0; k < count; k++)
            there = there || has(process->gpus, process->gpu_count, gpus[k]);
        if (there && process->state == GW_PROCESS_IDLE && process->pool != but &&
            !is_wanted(core, process->pool))
            gw_process_reap(core, process, EVICT_GRACE_NS);
    }
}

/* Makes room for an attempt on its GPUs. Returns false if the attempt was ended because one of its
 * GPUs is drained. */
static bool make_way(struct gw_node_core *core, struct gw_attempt *run,
                     const struct gw_runner_pool *pool)
{
    for (uint32_t i = 0; i < run->gpu_count; i++)
        if (core->gpus[run->gpus[i]].state == GW_GPU_DRAINED) {
            gw_process_end_attempt(core, run, lost_its_gpu(core, run->gpus[i]), 0);
            return false;
        }
    evict(core, pool, run->gpus, run->gpu_count);
    return true;
}

void gw_gpu_pump(struct gw_node_core *core)
{
    for (struct gw_attempt *run = core->alone.first, *next; run; run = next) {
        next = run->next;
        if (run->gpu_count)
            (void)make_way(core, run, run->pool);
    }
    for (size_t i = core->pools.count; i-- > 0;) {
        struct gw_runner_pool *pool = core->pools.items[i];
        while (pool->gpu_count && pool->ready.first && !make_way(core, pool->ready.first, pool))
            if (i >= core->pools.count || core->pools.items[i] != pool)
                break; /* the pool was freed with its last attempt */
    }
}

/* -- Samples from the driver ---------------------------------------------------------------------
 */

static bool is_back(const struct gw_gpu *gpu, const struct gw_gpu_sample *sample)
{
    return sample->used_bytes <= gpu->idle_bytes + SLACK_BYTES &&
           sample->processes <= gpu->idle_processes;
}

/* Checks if a drained GPU without processes of this worker is clear now. If it is, the GPU may be
 * used again. */
static void look_again(struct gw_node_core *core, uint32_t number,
                       const struct gw_gpu_sample *sample)
{
    struct gw_gpu *gpu = &core->gpus[number];
    if (gpu->given == GW_GPU_GIVEN_AS_IT_IS) {
        gpu->idle_bytes = sample->used_bytes;
        gpu->idle_processes = sample->processes;
    }
    if (is_back(gpu, sample))
        undrain(gpu);
    else if (gpu->given)
        drain(core, number,
              gw_attempt_text("%.2f GiB of its memory and %" PRIu32
                              " processes on it belong to no task",
                              (double)sample->used_bytes / (1 << 30), sample->processes));
    gpu->given = GW_GPU_GIVEN_NOT;
}

static void look(struct gw_node_core *core, uint32_t number, const struct gw_gpu_sample *sample,
                 uint64_t began_ns)
{
    struct gw_gpu *gpu = &core->gpus[number];
    gpu->seen = *sample;
    if (gpu->broken || sample->lost)
        return;
    bool after = began_ns >= gpu->since_ns;
    /* No process of this worker is on the GPU, so other programs use this memory */
    if (gpu->state == GW_GPU_CLEAR) {
        gpu->idle_bytes = sample->used_bytes;
        gpu->idle_processes = sample->processes;
    } else if (gpu->state == GW_GPU_CLEARING && after && is_back(gpu, sample)) {
        gw_sm_move(&gw_gpu_sm, &gpu->state, GW_GPU_CLEAR);
    } else if (gpu->state == GW_GPU_DRAINED && after && gpu->processes == 0) {
        look_again(core, number, sample);
    }
}

static bool differs(uint64_t a, uint64_t b, uint64_t step)
{
    return (a > b ? a - b : b - a) > step;
}

static bool worth_telling(const struct gw_node_core *core)
{
    for (uint32_t i = 0; i < core->options.gpu_count; i++) {
        const struct gw_gpu_sample *seen = &core->gpus[i].seen, *told = &core->gpus[i].told_seen;
        if (differs(seen->used_bytes, told->used_bytes,
                    core->options.gpus[i].memory_bytes / TOLD_PART) ||
            seen->processes != told->processes ||
            differs(seen->power_mw, told->power_mw, POWER_STEP_MW) ||
            differs(seen->busy_percent, told->busy_percent, 10) ||
            (seen->busy_percent == 0) != (told->busy_percent == 0) ||
            (core->gpus[i].state == GW_GPU_CLEARING) != core->gpus[i].told_clearing)
            return true;
    }
    return !core->gpus_told;
}

static void tell_usage(struct gw_node_core *core)
{
    uint32_t count = core->options.gpu_count;
    uint64_t *used = gw_core_scratch(core, count * sizeof *used);
    uint32_t *processes = gw_core_scratch(core, 4 * count * sizeof *processes);
    uint32_t *power = processes + count, *busy = power + count, *clearing = busy + count;
    for (uint32_t i = 0; i < count; i++) {
        struct gw_gpu *gpu = &core->gpus[i];
        used[i] = gpu->seen.used_bytes;
        processes[i] = gpu->seen.processes;
        power[i] = gpu->seen.power_mw;
        busy[i] = gpu->seen.busy_percent;
        clearing[i] = gpu->state == GW_GPU_CLEARING;
        gpu->told_seen = gpu->seen;
        gpu->told_clearing = clearing[i] != 0;
    }
    core->gpus_told = true;
    gw_core_send(core, core->scheduler, GW_MESSAGE_gpu_usage)->message.gpu_usage =
        (struct gw_msg_gpu_usage){
            {used, count}, {processes, count}, {power, count}, {busy, count}, {clearing, count}};
}

void gw_gpu_on_samples(struct gw_node_core *core, const struct gw_event *event)
{
    if (event->gpu_count != core->options.gpu_count)
        return;
    for (uint32_t i = 0; i < event->gpu_count; i++) {
        note_errors(core, i, &event->gpus[i]);
        look(core, i, &event->gpus[i], event->number);
    }
    if (core->registered && event->gpu_count && worth_telling(core))
        tell_usage(core);
}

/* A GPU that had an error must return to its earlier memory use. Otherwise the administrator
 * accepts what is on the GPU now. The next sample decides. */
int gw_gpu_on_undrain(struct gw_node_core *core, const struct gw_msg_gpu_undrain *message)
{
    if (message->gpu >= core->options.gpu_count)
        return GW_EPROTO;
    struct gw_gpu *gpu = &core->gpus[message->gpu];
    if (gpu->state != GW_GPU_DRAINED)
        return 0;
    gpu->given = gpu->broken ? GW_GPU_GIVEN_REPAIRED : GW_GPU_GIVEN_AS_IT_IS;
    gpu->broken = false;
    return 0;
}

/* -- Time limits and reports ---------------------------------------------------------------------
 */

void gw_gpu_tick(struct gw_node_core *core)
{
    char time[GW_TEXT_DURATION_ROOM];
    for (uint32_t i = 0; i < core->options.gpu_count; i++) {
        struct gw_gpu *gpu = &core->gpus[i];
        if (gpu->state != GW_GPU_CLEARING ||
            core->now_ns < gpu->since_ns + core->options.gpu_clear_ns)
            continue;
        drain(core, i,
              gw_attempt_text("%.2f GiB of its memory and %" PRIu32
                              " processes were still there %s after its last task had ended",
                              (double)gpu->seen.used_bytes / (1 << 30), gpu->seen.processes,
                              gw_text_duration(core->options.gpu_clear_ns, time)));
    }
}

uint64_t gw_gpu_deadline_ns(const struct gw_node_core *core)
{
    uint64_t deadline = UINT64_MAX;
    for (uint32_t i = 0; i < core->options.gpu_count; i++)
        if (core->gpus[i].state == GW_GPU_CLEARING &&
            core->gpus[i].since_ns + core->options.gpu_clear_ns < deadline)
            deadline = core->gpus[i].since_ns + core->options.gpu_clear_ns;
    return deadline;
}

void gw_gpus_registered(struct gw_node_core *core)
{
    core->gpus_told = false;
    for (uint32_t i = 0; i < core->options.gpu_count; i++)
        core->gpus[i].told = core->gpus[i].why == NULL;
}

void gw_gpu_settle(struct gw_node_core *core)
{
    for (uint32_t i = 0; core->registered && i < core->options.gpu_count; i++) {
        struct gw_gpu *gpu = &core->gpus[i];
        if (gpu->told)
            continue;
        gpu->told = true;
        gw_core_send(core, core->scheduler, GW_MESSAGE_gpu_drained)->message.gpu_drained =
            (struct gw_msg_gpu_drained){i, gw_core_text(core, gpu->why ? gpu->why : ""),
                                        gpu->broken};
    }
}

void gw_gpus_check(const struct gw_node_core *core)
{
    for (uint32_t i = 0; i < core->options.gpu_count; i++) {
        const struct gw_gpu *gpu = &core->gpus[i];
        uint32_t processes = 0;
        for (size_t k = 0; k < core->processes.count; k++)
            processes +=
                has(core->processes.items[k]->gpus, core->processes.items[k]->gpu_count, i);
        assert(processes == gpu->processes);
        assert(gpu->state != GW_GPU_HELD || processes > 0);
        assert(processes == 0 || gpu->state == GW_GPU_HELD || gpu->state == GW_GPU_DRAINED);
        assert((gpu->state == GW_GPU_DRAINED) == (gpu->why != NULL));
        assert(gpu->shared || processes <= 1 || gpu->state == GW_GPU_DRAINED);
    }
}
