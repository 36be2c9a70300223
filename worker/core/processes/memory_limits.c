/* Memory limits: decides which results are spilled to disk, when no new work may start, and which
 * process is killed.
 *
 * There are four thresholds, as in Dask. Results in memory above `target` are spilled. Results are
 * also spilled if all memory in use, including that of processes, is above `spill`. Above `pause`
 * no new work starts. Above `terminate` the largest process is killed. The results
 * that were used least recently are spilled first. A result that a runner was given is never
 * spilled, since this would free nothing.
 *
 * Invariant: a worker is not paused for ever. One more attempt starts if nothing is going to free
 * memory (no work ends, no result is being written, no runner is being ended), or if nothing has
 * done so for PATIENCE_NS, since running work may wait for work that was not started.
 *
 * An attempt that has its inputs here is not given back to the scheduler if results can be spilled:
 * it then reads its inputs from disk, while on another worker they would take memory. If results
 * cannot be spilled, only the attempt that is nearest to its start stays.
 *
 * A worker is full if it is above `terminate` and its results cannot be spilled. An attempt without
 * inputs here would only add a result, so it does not start. An attempt with inputs here starts,
 * since most such attempts release results, until FULL_ADDED_MAX results were added and none was
 * released. The attempts that do not start wait for a while for results to be released, and then
 * fail, since the limit is real. If a worker is full and must kill a task that makes a result, that
 * task fails with the same outcome, since the results and not the task used the memory.
 *
 * A process that uses more memory than its task asked for is killed in any case. A task that asked
 * for none has no limit of its own. */
#include "worker/core/processes/memory_limits.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/memory.h"
#include "worker/core/objects/result_memfd.h"
#include "worker/core/objects/spill.h"
#include "worker/core/processes/process.h"

#define MS UINT64_C(1000000)
/* Wait while paused, before one more attempt starts; wait while full, before attempts fail */
#define PATIENCE_NS (5000 * MS)
/* Wait while memory is full, if a running task may release its inputs when it ends */
#define FREES_NS (60000 * MS)
#define LOOK_NS (20 * MS) /* minimum wait: a release message may follow the assign message */

enum {
    SPILLS_MAX = 2,         /* results written at a time */
    VICTIM_PART = 20,       /* a process below 1/20 of the limit is not killed */
    TOLD_PART = 32,         /* a change of 1/32 of the limit is reported */
    MEASURED_MIN = 1 << 20, /* bytes; a smaller peak is not reported */
    FULL_ADDED_MAX = 16,    /* results added while full and none released */
};

/* -- Spilling ------------------------------------------------------------------------------------
 */

/* Returns true if results must be spilled, even after the current writes have freed their memory.
 */
static bool too_much(const struct gw_node_core *core)
{
    const struct gw_memory *memory = &core->memory;
    return memory->resident_bytes - memory->spilling_bytes > memory->target_bytes ||
           gw_memory_used(core) - memory->spilling_bytes > memory->spill_bytes;
}

static uint32_t descriptors_of(const struct gw_node_core *core)
{
    return core->memory.descriptors + core->memfiles.descriptors;
}

static bool too_many(const struct gw_node_core *core)
{
    const struct gw_memory *memory = &core->memory;
    return descriptors_of(core) > (uint64_t)memory->descriptors_max + memory->spilling;
}

/* Returns true if idle memory files contribute to a threshold being exceeded. */
static bool crowds(const struct gw_node_core *core)
{
    const struct gw_memory *memory = &core->memory;
    uint64_t used = gw_memory_used(core);
    return memory->resident_bytes + core->memfiles.bytes > memory->target_bytes ||
           used > memory->spill_bytes || used > memory->pause_bytes ||
           used > memory->terminate_bytes || descriptors_of(core) > memory->descriptors_max;
}

/* Frees idle memory files if memory is short. This comes before any result is spilled, any task
 * waits or any process is killed. */
static void spare(struct gw_node_core *core)
{
    while (crowds(core) && gw_result_memfd_spare(core))
        continue;
    gw_result_memfd_settle(core);
}

/* Returns the next result to spill, or NULL. A result that an attempt waits for needs a descriptor
 * on disk, too, so spilling it does not reduce the number of descriptors. */
static struct gw_object *victim(const struct gw_node_core *core)
{
    const struct gw_memory *memory = &core->memory;
    if (core->options.spills_off || (!too_much(core) && !too_many(core)))
        return NULL;
    if (memory->unused.oldest)
        return memory->unused.oldest;
    return too_much(core) ? memory->wanted.oldest : NULL;
}

static void spill(struct gw_node_core *core)
{
    struct gw_object *object;
    while (core->memory.spilling < SPILLS_MAX && core->now_ns >= core->memory.retry_ns &&
           (object = victim(core)))
        gw_spill_write(core, object);
}

static uint64_t paused_until_ns(const struct gw_node_core *core);

uint64_t gw_memory_limits_deadline_ns(const struct gw_node_core *core)
{
    const struct gw_memory *memory = &core->memory;
    uint64_t deadline = UINT64_MAX;
    if (memory->retry_ns > core->now_ns && victim(core))
        deadline = memory->retry_ns;
    uint64_t until = memory->state == GW_MEMORY_PAUSED ? paused_until_ns(core) : UINT64_MAX;
    return until < deadline ? until : deadline;
}

/* -- Pausing -------------------------------------------------------------------------------------
 */

/* Returns true if a process will release memory by itself. A process whose task waits for other
 * tasks will not: each would wait for the other. An actor without calls will not either. */
static bool works(const struct gw_process *process)
{
    bool rests = process->actor && process->state == GW_PROCESS_BUSY && !process->queue.first;
    return process->state != GW_PROCESS_IDLE && !process->lent && !rests;
}

static bool anything_works(const struct gw_node_core *core)
{
    for (size_t i = 0; i < core->processes.count; i++)
        if (works(core->processes.items[i]))
            return true;
    return false;
}

/* Ends idle runners, which returns the memory that they still hold. Returns false if there is none.
 */
static bool end_idle(struct gw_node_core *core)
{
    bool any = false;
    for (size_t i = 0; i < core->processes.count; i++) {
        struct gw_process *process = core->processes.items[i];
        if (process->state != GW_PROCESS_IDLE || !process->memory_bytes)
            continue;
        gw_process_reap(core, process, 200 * MS);
        any = true;
    }
    return any;
}

/* Returns the size of an attempt's inputs that are on this worker. */
static uint64_t inputs_here(const struct gw_attempt *run)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < run->dep_count; i++)
        if (run->deps[i].object)
            bytes += run->deps[i].object->bytes;
    return bytes;
}

static bool can_spill(const struct gw_node_core *core)
{
    const struct gw_memory *memory = &core->memory;
    return !core->options.spills_off && !memory->trouble &&
           (memory->target_bytes != UINT64_MAX || memory->spill_bytes != UINT64_MAX);
}

/* Returns true if the worker is full because of results that cannot be spilled. */
static bool results_fill(const struct gw_node_core *core)
{
    const struct gw_memory *memory = &core->memory;
    return gw_memory_used(core) > memory->terminate_bytes &&
           memory->resident_bytes > memory->terminate_bytes / 2 && !can_spill(core);
}

/* Updates the time since which the worker is full and has released no result. */
static void watch_full(struct gw_node_core *core)
{
    struct gw_memory *memory = &core->memory;
    bool full = results_fill(core);
    if (full && (!memory->full || memory->resident_bytes < memory->full_least)) {
        memory->full_ns = core->now_ns;
        memory->full_least = memory->resident_bytes;
        memory->full_added = 0;
    }
    memory->full = full;
}

/* Returns true for an ordinary function. Commands, ranks, actors and their calls return false: they
 * make no result here, or one that cannot be told apart from their own memory. */
static bool makes_result(const struct gw_attempt *run)
{
    return !run->gang && !run->actor && !run->spec->message.actor &&
           run->spec->message.kind == GW_SPEC_FUNCTION;
}

bool gw_memory_limits_lets(const struct gw_node_core *core, const struct gw_attempt *run)
{
    const struct gw_memory *memory = &core->memory;
    if (!memory->full || !makes_result(run))
        return true;
    return inputs_here(run) && memory->full_added < FULL_ADDED_MAX;
}

/* Returns true if every attempt that could start now would only add a result to a full worker. */
static bool only_adders(const struct gw_node_core *core)
{
    bool any = false;
    for (size_t i = 0; core->memory.full && i < core->pools.count; i++) {
        const struct gw_attempt *run = core->pools.items[i]->ready.first;
        if (run && gw_memory_limits_lets(core, run))
            return false;
        any = any || run;
    }
    return any;
}

static uint64_t full_until_ns(const struct gw_node_core *core)
{
    uint64_t until = core->memory.full_ns + PATIENCE_NS;
    for (size_t i = 0; i < core->processes.count; i++) {
        const struct gw_process *process = core->processes.items[i];
        if (works(process) && process->queue.first && inputs_here(process->queue.first))
            until = core->memory.full_ns + FREES_NS;
    }
    uint64_t look = core->memory.since_ns + LOOK_NS;
    return until > look ? until : look;
}

static uint64_t paused_until_ns(const struct gw_node_core *core)
{
    uint64_t until = core->memory.since_ns + PATIENCE_NS;
    if (only_adders(core))
        until = full_until_ns(core);
    return until;
}

bool gw_memory_limits_refuses(const struct gw_node_core *core)
{
    return core->memory.full && core->memory.state == GW_MEMORY_PAUSED &&
           core->now_ns >= full_until_ns(core);
}

/* Returns the outcome of an attempt for whose result there is no memory. */
static struct gw_attempt_end full_end(const struct gw_node_core *core)
{
    const struct gw_memory *memory = &core->memory;
    struct gw_attempt_end end = {.outcome = GW_OUTCOME_FULL, .code = GW_ELIMIT};
    end.text = gw_attempt_text(
        "no memory for its result: the worker's %zu results take %.1f MiB, the worker uses %.1f "
        "MiB of its limit of %.1f MiB, and the results cannot be spilled to disk: %s; release "
        "results, free space on that disk, or give the worker another disk or more memory "
        "(--spill-dir, --memory-limit)",
        memory->in_memory, (double)memory->resident_bytes / (1 << 20),
        (double)gw_memory_used(core) / (1 << 20), (double)core->options.memory_bytes / (1 << 20),
        memory->trouble            ? memory->trouble
        : core->options.spills_off ? "it has no folder for spilled results"
                                   : "spilling is switched off (--memory-target, --memory-spill)");
    return end;
}

void gw_memory_limits_refuse(struct gw_node_core *core, struct gw_attempt *run)
{
    gw_process_end_attempt(core, run, full_end(core), 0);
}

static uint32_t state_now(struct gw_node_core *core)
{
    const struct gw_memory *memory = &core->memory;
    bool crowded = descriptors_of(core) / 9 >
                   memory->descriptors_max / 8; /* more descriptors than its share */
    if (gw_memory_used(core) <= memory->pause_bytes && !crowded && !memory->full)
        return GW_MEMORY_OPEN;
    if (only_adders(core))
        return GW_MEMORY_PAUSED;
    if (memory->state == GW_MEMORY_ONE) /* this flag stays set until a new attempt has arrived, or
                                           an attempt that was on the worker has begun */
        return memory->runs == core->runs && !memory->begun ? GW_MEMORY_ONE : GW_MEMORY_PAUSED;
    bool patient = memory->state == GW_MEMORY_OPEN || core->now_ns - memory->since_ns < PATIENCE_NS;
    if (patient && (anything_works(core) || memory->spilling || end_idle(core)))
        return GW_MEMORY_PAUSED;
    return GW_MEMORY_ONE;
}

static void set_state(struct gw_node_core *core)
{
    uint32_t state = state_now(core);
    core->memory.lets =
        state == GW_MEMORY_PAUSED && core->memory.state == GW_MEMORY_ONE && !core->memory.begun;
    if (state == core->memory.state)
        return;
    core->memory.state = state;
    core->memory.since_ns = core->now_ns;
    core->memory.runs = core->runs;
    core->memory.begun = false;
}

bool gw_memory_limits_holds(const struct gw_node_core *core)
{
    const struct gw_memory *memory = &core->memory;
    return (memory->state == GW_MEMORY_PAUSED && !memory->lets) ||
           (memory->state == GW_MEMORY_ONE && memory->begun);
}

bool gw_memory_limits_lets_one(const struct gw_node_core *core)
{
    return core->memory.state != GW_MEMORY_OPEN;
}

void gw_memory_limits_on_begun(struct gw_node_core *core)
{
    core->memory.begun = core->memory.state == GW_MEMORY_ONE;
    core->memory.lets = false;
}

static bool nearer(const struct gw_attempt *a, const struct gw_attempt *b)
{
    if (!a->missing != !b->missing)
        return !a->missing;
    uint64_t a_bytes = inputs_here(a), b_bytes = inputs_here(b);
    return a_bytes != b_bytes ? a_bytes > b_bytes : a->serial < b->serial;
}

/* Returns true if no other attempt of the list is nearer to its start than `run`. */
static bool nearest_of(const struct gw_attempts *list, const struct gw_attempt *run)
{
    for (const struct gw_attempt *other = list->first; other; other = other->next)
        if (other != run && !other->gang && nearer(other, run))
            return false;
    return true;
}

static bool nearest(const struct gw_node_core *core, const struct gw_attempt *run)
{
    for (size_t i = 0; i < core->pools.count; i++)
        if (!nearest_of(&core->pools.items[i]->ready, run))
            return false;
    return nearest_of(&core->waiting, run) && nearest_of(&core->alone, run);
}

bool gw_memory_limits_keeps(const struct gw_node_core *core, const struct gw_attempt *run)
{
    const struct gw_memory *memory = &core->memory;
    if (memory->state == GW_MEMORY_OPEN || run->gang || !inputs_here(run))
        return false;
    return can_spill(core) || (!anything_works(core) && nearest(core, run));
}

/* -- Reports to the scheduler --------------------------------------------------------------------
 */

static bool differs(uint64_t a, uint64_t b, uint64_t step)
{
    return (a > b ? a - b : b - a) > step;
}

static bool worth_telling(const struct gw_node_core *core)
{
    const struct gw_memory *memory = &core->memory;
    uint64_t step = core->options.memory_bytes / TOLD_PART;
    return !memory->told || memory->state != memory->told_state ||
           (memory->trouble != NULL) != memory->told_trouble ||
           differs(gw_memory_used(core), memory->told_used, step) ||
           differs(memory->resident_bytes, memory->told_resident, step) ||
           (memory->spilled_bytes != memory->told_spilled &&
            (!memory->spilled_bytes || differs(memory->spilled_bytes, memory->told_spilled, step)));
}

static void tell(struct gw_node_core *core)
{
    struct gw_memory *memory = &core->memory;
    memory->told = true;
    memory->told_state = memory->state;
    memory->told_trouble = memory->trouble != NULL;
    memory->told_used = gw_memory_used(core);
    memory->told_resident = memory->resident_bytes;
    memory->told_spilled = memory->spilled_bytes;
    gw_core_send(core, core->scheduler, GW_MESSAGE_memory)->message.memory = (struct gw_msg_memory){
        .used_bytes = gw_memory_used(core),
        .processes_bytes = memory->processes_bytes + memory->own_bytes,
        .resident_bytes = memory->resident_bytes,
        .spilled_bytes = memory->spilled_bytes,
        .written_bytes = memory->written_bytes,
        .target_bytes = memory->target_bytes == UINT64_MAX ? 0 : memory->target_bytes,
        .pause_bytes = memory->pause_bytes == UINT64_MAX ? 0 : memory->pause_bytes,
        .state = memory->state,
        .descriptors = descriptors_of(core),
        .descriptors_max = memory->descriptors_max,
        .trouble = gw_core_text(core, memory->trouble),
        .idle_bytes = gw_result_memfd_idle_bytes(core),
    };
}

void gw_memory_limits_settle(struct gw_node_core *core)
{
    spare(core);
    spill(core);
    watch_full(core);
    set_state(core);
    if (core->registered && worth_telling(core))
        tell(core);
}

/* -- Memory of processes -------------------------------------------------------------------------
 */

static bool kills_rather(const struct gw_process *a, const struct gw_process *b)
{
    bool a_gang = a->queue.first->gang != NULL, b_gang = b->queue.first->gang != NULL;
    return a_gang != b_gang ? b_gang : (a->memory_bytes > b->memory_bytes);
}

static struct gw_attempt_end oom_end(const struct gw_process *process, uint64_t used,
                                     uint64_t limit)
{
    struct gw_attempt_end end = {.outcome = GW_OUTCOME_OOM, .code = GW_ECRASHED};
    end.text = gw_attempt_text("out of memory: the task used %.1f MiB when its worker used %.1f "
                               "MiB of its limit of %.1f MiB; declare how much the task needs "
                               "(memory_bytes, --memory), or give the worker more (--memory-limit)",
                               (double)process->memory_bytes / (1 << 20), (double)used / (1 << 20),
                               (double)limit / (1 << 20));
    return end;
}

/* Kills a process if memory use is above `terminate`: the largest. Only one process is
 * killed at a time. Idle runners are ended first. */
static void terminate(struct gw_node_core *core)
{
    struct gw_memory *memory = &core->memory;
    uint64_t limit = core->options.memory_bytes, used = gw_memory_used(core);
    if (used <= memory->terminate_bytes || gw_process_find(core, memory->killing) || end_idle(core))
        return;
    struct gw_process *most = NULL;
    for (size_t i = 0; i < core->processes.count; i++) {
        struct gw_process *process = core->processes.items[i];
        if (process->reaping || process->state != GW_PROCESS_BUSY || !process->queue.first ||
            process->memory_bytes < limit / VICTIM_PART)
            continue;
        if (!most || kills_rather(process, most))
            most = process;
    }
    if (!most)
        return;
    memory->killing = most->id;
    bool blameless = results_fill(core) && makes_result(most->queue.first);
    struct gw_attempt_end end = blameless ? full_end(core) : oom_end(most, used, limit);
    gw_process_end_attempt(core, most->queue.first, end, 0);
}

uint64_t gw_memory_limits_of(const struct gw_process *process)
{
    if (process->pool)
        return process->pool->like->message.memory_bytes;
    return process->queue.first ? process->queue.first->spec->message.memory_bytes : 0;
}

static struct gw_attempt_end limit_end(const struct gw_process *process, uint64_t limit)
{
    struct gw_attempt_end end = {.outcome = GW_OUTCOME_OOM, .code = GW_ECRASHED};
    end.text =
        gw_attempt_text("out of memory: the task used %.1f MiB, but asked for %.1f MiB; ask for "
                        "more (memory_bytes, --memory), or for none to have no limit",
                        (double)process->memory_bytes / (1 << 20), (double)limit / (1 << 20));
    return end;
}

/* Ends a process that uses more memory than its task asked for. An idle runner is ended without a
 * report. */
static void limit(struct gw_node_core *core, struct gw_process *process)
{
    uint64_t most = gw_memory_limits_of(process);
    if (!most || process->memory_bytes <= most || process->reaping)
        return;
    if (process->state == GW_PROCESS_IDLE) {
        gw_process_reap(core, process, 200 * MS);
    } else if (process->state == GW_PROCESS_BUSY && process->queue.first) {
        core->memory.killing =
            process->id; /* wait for its memory before another process is killed */
        gw_process_end_attempt(core, process->queue.first, limit_end(process, most), 0);
    }
}

/* Reports the peak memory of an attempt each time it has grown by a quarter, and its CPU time so
 * far. cpu_ns: that of its process; 0: not measured now. */
static void tell_use(struct gw_node_core *core, const struct gw_process *process, uint64_t cpu_ns)
{
    struct gw_attempt *run = process->queue.first;
    const bool grown = run && process->memory_bytes >= MEASURED_MIN &&
                       process->memory_bytes / 5 * 4 >= run->peak_told_bytes;
    const bool used = cpu_ns > process->cpu_given_ns;
    if (!run || !gw_attempt_executes(run) || !core->registered || (!grown && !used))
        return;
    struct {
        uint64_t attempt, bytes, cpu_ns, so_far_ns;
        uint32_t rank;
    } *row = gw_core_scratch(core, sizeof *row);
    if (grown)
        run->peak_told_bytes = process->memory_bytes;
    row->attempt = run->attempt;
    row->bytes = grown ? process->memory_bytes : 0;
    row->cpu_ns = 0;
    row->so_far_ns = used ? cpu_ns - process->cpu_given_ns : 0;
    row->rank = run->rank;
    gw_core_send(core, core->scheduler, GW_MESSAGE_measured)->message.measured =
        (struct gw_msg_measured){{&row->attempt, 1},
                                 {&row->bytes, 1},
                                 {&row->rank, 1},
                                 {&row->cpu_ns, 1},
                                 {&row->so_far_ns, 1}};
}

void gw_memory_limits_on_measured(struct gw_node_core *core, const struct gw_event *event)
{
    core->memory.own_bytes = event->number;
    for (uint32_t i = 0; i < event->use_count; i++) {
        struct gw_process *process = gw_process_find(core, event->uses[i].process);
        if (!process)
            continue;
        core->memory.processes_bytes += event->uses[i].bytes - process->memory_bytes;
        process->memory_bytes = event->uses[i].bytes;
        tell_use(core, process, event->uses[i].cpu_ns);
        limit(core, process);
    }
    spare(core);
    terminate(core);
}
