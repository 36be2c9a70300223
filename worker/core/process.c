/* Processes: runners and commands, from spawn to burial, and who is charged for how they end.
 *
 * Always: a process holds its slots until it is buried, or parked (park.c); what it ran is judged
 * when it is buried and its link is closed, since only then everything that it reported has
 * arrived. The first run of a runner's queue executes; those behind it are queued again, uncharged.
 */
#include "worker/core/process.h"

#include "graph/base/text.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "worker/core/actor.h"
#include "worker/core/core.h"
#include "worker/core/environment.h"
#include "worker/core/folder.h"
#include "worker/core/gang.h"
#include "worker/core/gpu.h"
#include "worker/core/job.h"
#include "worker/core/memfile.h"
#include "worker/core/nested.h"
#include "worker/core/pool.h"
#include "worker/core/result.h"
#include "worker/core/run.h"
#include "worker/core/silence.h"
#include "worker/core/store.h"
#include "worker/core/turn.h"

#include <inttypes.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define HELLO_LIMIT_NS (20000 * MS)
#define LINGER_LIMIT_NS (1000 * MS) /* between a runner's closed link and its exit */
#define STARTED_AFTER_NS (20 * MS)
#define IDLE_GRACE_NS (200 * MS)
enum { KILL_SIGNAL = 9 /* on all of Linux */ };

struct gw_process *gw_process_find(const struct gw_node_core *core, uint64_t id)
{
    uint64_t value;
    return gw_map_get(&core->processes_by_id, id, &value) ? (struct gw_process *)(uintptr_t)value
                                                          : NULL;
}

/* -- Start ---------------------------------------------------------------------------------------
 */

static struct gw_msg_spawn spawn_of_runner(struct gw_node_core *core, const struct gw_pool *pool,
                                           const struct gw_process *process)
{
    char *out = gw_core_scratch(core, GW_NODE_PATH_MAX);
    char *err = gw_core_scratch(core, GW_NODE_PATH_MAX);
    const char *log_dir = core->options.log_dir;
    gw_node_capture_path(log_dir, core->incarnation, process->id, "out", out);
    gw_node_capture_path(log_dir, core->incarnation, process->id, "err", err);
    return (struct gw_msg_spawn){
        .process = process->id,
        .path = pool->program->path,
        .argv = gw_environment_list1(core, pool->program->path),
        .env = gw_environment_of_runner(core, pool),
        .cwd = pool->like->message.cwd,
        .out = out,
        .err = err,
        .output_bytes_max = pool->like->message.output_bytes_max,
        .runner = 1,
        .checkpoints = "",
        .cpus = gw_gpu_cpus(core, process, pool->like),
    };
}

static struct gw_msg_spawn spawn_of_command(struct gw_node_core *core, const struct gw_run *run,
                                            const struct gw_process *process)
{
    char *out = gw_core_scratch(core, GW_NODE_PATH_MAX);
    char *err = gw_core_scratch(core, GW_NODE_PATH_MAX);
    struct gw_node_place place;
    struct gw_bin argv = gw_environment_argv(core, run);
    const uint32_t streams = run->spec->message.streams;
    gw_run_place(run, &place);
    gw_node_output_path(core->options.log_dir, &place, "out", out);
    gw_node_output_path(core->options.log_dir, &place, "err", err);
    return (struct gw_msg_spawn){
        .process = process->id,
        .path = gw_environment_first(core, argv),
        .argv = argv,
        .env = gw_environment_of_command(core, run),
        .cwd = gw_folder_of(run),
        .out = out,
        .err = err,
        .output_bytes_max = run->spec->message.output_bytes_max,
        .checkpoints = gw_environment_checkpoints(core, run),
        .epilog = run->spec->message.epilog,
        .cpus = gw_gpu_cpus(core, process, run->spec),
        .held = (streams & GW_STREAM_HELD) != 0,
        .in = (streams & GW_STREAM_INPUT) && (!run->gang || run->rank == 0),
    };
}

/* Whether it is one of those that start for the pool's queue, not for a rank. */
static void count_starting(struct gw_process *process, bool starts)
{
    if (process->starts == starts)
        return;
    process->starts = starts;
    if (starts)
        process->pool->starting++;
    else
        process->pool->starting--;
}

/* A runner of pool, bound to run where there is one; without a pool the command that run is, which
 * may have to wait behind another. */
struct gw_process *gw_process_start(struct gw_node_core *core, struct gw_pool *pool,
                                    struct gw_run *run, struct gw_process *behind)
{
    struct gw_process *process = gw_core_alloc(sizeof *process);
    process->id = ++core->process_id;
    process->pool = pool;
    process->runner = pool != NULL;
    if (pool)
        pool->process_count++;
    gw_gpu_hold(core, process, pool, run);
    process->behind = behind;
    if (behind)
        behind->before = process;
    else
        process->slots = run ? run->spec->slots : pool->like->slots;
    GW_MUST(gw_array_push(&core->processes, process));
    GW_MUST(gw_map_put(&core->processes_by_id, process->id, (uintptr_t)process));
    if (run && run->holds_slots)
        run->holds_slots = false;
    else
        core->slots_used += process->slots;
    struct gw_msg_spawn spawn;
    if (pool) {
        process->deadline_ns = core->now_ns + HELLO_LIMIT_NS;
        GW_MUST(gw_array_push(&pool->runners, process));
        if (run)
            gw_process_give(core, process, run);
        else
            count_starting(process, true);
        process->agains = pool->program->agains;
        spawn = spawn_of_runner(core, pool, process);
    } else {
        spawn = spawn_of_command(core, run, process);
        spawn.behind = behind ? behind->id : 0;
        gw_process_give(core, process, run);
        process->head_since_ns = behind ? 0 : core->now_ns;
    }
    struct gw_effect *effect = gw_core_send(core, core->guardian, GW_MESSAGE_spawn);
    effect->message.spawn = spawn;
    if (!pool && run->spec->speaks) {
        effect->number = run->attempt;
        effect->count = run->rank;
        effect->bytes = run->spec->address;
    }
    return process;
}

void gw_process_give(struct gw_node_core *core, struct gw_process *process, struct gw_run *run)
{
    gw_run_pull(run);
    gw_run_push(&process->queue, run);
    run->process = process;
    process->load_ns += run->load_ns;
    process->woken = false;
    if (process->state == GW_PROCESS_IDLE) {
        gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_BUSY);
        process->started_told = false;
        if (!run->gang) /* a rank executes from go on */
            process->head_since_ns = core->now_ns;
    }
}

void gw_process_unbind(struct gw_node_core *core, struct gw_process *process, struct gw_run *run)
{
    gw_run_pull(run);
    run->process = NULL;
    gw_run_push(&core->held, run);
    count_starting(process, true);
}

static void make_idle(struct gw_node_core *core, struct gw_process *process)
{
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_IDLE);
    process->idle_since_ns = core->now_ns;
    process->head_since_ns = 0;
}

void gw_process_next(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_run *run = process->queue.first;
    process->started_told = process->runs_long = false;
    gw_nested_end(core, process);
    process->head_since_ns = run ? core->now_ns : 0;
    if (process->state != GW_PROCESS_BUSY)
        return;
    if (!run && process->actor) {
        return; /* it waits for calls */
    } else if (!run) {
        make_idle(core, process);
    } else if (run->killing && !run->actor) { /* a call runs to its end */
        struct gw_run_end end = {.outcome = GW_OUTCOME_KILLED, .code = GW_ECANCELLED};
        end.text = gw_core_strdup("killed");
        gw_run_end(core, run, end, run->kill_grace_ns);
    }
}

/* -- Hello ---------------------------------------------------------------------------------------
 */

/* Reads a MessagePack list of names into the pool; false where it is none. */
static bool read_functions(struct gw_pool *pool, struct gw_bin list)
{
    if (gw_frame_check(list.data, list.size, NULL) < 0)
        return false;
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    bool well =
        msgpack_unpack_next(&unpacked, list.data, list.size, NULL) == MSGPACK_UNPACK_SUCCESS &&
        unpacked.data.type == MSGPACK_OBJECT_ARRAY;
    for (uint32_t i = 0; well && i < unpacked.data.via.array.size; i++) {
        const msgpack_object *item = &unpacked.data.via.array.ptr[i];
        well = item->type == MSGPACK_OBJECT_STR;
        if (!well)
            break;
        char *name = strndup(item->via.str.ptr, item->via.str.size);
        GW_MUST_PTR(name);
        if (!gw_strmap_get(&pool->functions, name, NULL))
            GW_MUST(gw_strmap_put(&pool->functions, name, 0));
        free(name);
    }
    msgpack_unpacked_destroy(&unpacked);
    return well;
}

int gw_process_on_hello(struct gw_node_core *core, struct gw_process *process,
                        const struct gw_msg_runner *hello)
{
    if (process->state == GW_PROCESS_EXITED)
        return 0;
    if (process->state != GW_PROCESS_STARTING || process->hello)
        return GW_EPROTO;
    if (hello->protocol != GW_PROTOCOL && hello->protocol + 1 != GW_PROTOCOL) {
        process->trouble = gw_run_text("the program speaks runner protocol %" PRIu32
                                       ", this worker %d: build it with the libgangway of this "
                                       "version",
                                       hello->protocol, GW_PROTOCOL);
        gw_process_bury(core, process, 0);
        return 0;
    }
    if (!read_functions(process->pool, hello->functions))
        return GW_EPROTO;
    struct gw_run *run = process->queue.first;
    process->hello = true;
    process->deadline_ns = 0;
    process->pool->proven = true;
    process->pool->start_failures = 0;
    process->pool->program->again = false;
    count_starting(process, false);
    make_idle(core, process);
    if (run && run->gang)
        gw_gang_prepare(core, process, run);
    else if (run)
        gw_node_actor_prepare(core, process, run);
    return 0;
}

/* -- End -----------------------------------------------------------------------------------------
 */

/* The process takes no more work. */
static void leave_pool(struct gw_process *process)
{
    struct gw_pool *pool = process->pool;
    if (!pool)
        return;
    for (size_t i = 0; i < pool->runners.count; i++)
        if (pool->runners.items[i] == process) {
            gw_array_remove_swap(&pool->runners, i);
            count_starting(process, false);
            return;
        }
}

/* How it is told to end: 0: by SIGTERM. */
static uint32_t signal_of(const struct gw_process *process)
{
    const struct gw_run *run = process->queue.first;
    return run ? run->spec->message.signal : 0;
}

void gw_process_signal(struct gw_node_core *core, const struct gw_process *process)
{
    if (core->guardian && !process->burying)
        gw_core_send(core, core->guardian, GW_MESSAGE_signal)->message.signal =
            (struct gw_msg_signal){process->id, signal_of(process)};
}

void gw_process_hurry(struct gw_node_core *core, const struct gw_process *process,
                      uint64_t grace_ns)
{
    if (core->guardian)
        gw_core_send(core, core->guardian, GW_MESSAGE_bury)->message.bury =
            (struct gw_msg_bury){process->id, grace_ns, signal_of(process)};
}

void gw_process_bury(struct gw_node_core *core, struct gw_process *process, uint64_t grace_ns)
{
    if (process->state == GW_PROCESS_BURIED)
        return;
    if (!process->burying)
        leave_pool(process);
    process->burying = true;
    process->deadline_ns = 0;
    if (process->state != GW_PROCESS_ENDING && process->state != GW_PROCESS_EXITED)
        gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_ENDING);
    gw_process_hurry(core, process, grace_ns);
}

void gw_process_free(struct gw_node_core *core, struct gw_process *process)
{
    leave_pool(process);
    gw_turn_leave(process);
    for (size_t i = 0; i < core->processes.count; i++)
        if (core->processes.items[i] == process) {
            gw_array_remove_swap(&core->processes, i);
            break;
        }
    gw_map_remove(&core->processes_by_id, process->id);
    gw_memfile_end(core, process);
    if (process->link)
        process->link->process = NULL;
    core->memory.processes_bytes -= process->memory_bytes;
    gw_map_deinit(&process->specs);
    gw_folder_end(core, process);
    if (process->pool) {
        process->pool->process_count--;
        gw_pool_tidy(core, process->pool);
    }
    free(process->gpus);
    free(process->trouble);
    free(process);
}

char *gw_process_exit_text(const struct gw_process *process)
{
    char error[64] = "";
    if (process->xid)
        snprintf(error, sizeof error, ", after Xid %" PRIu32 " on its GPU", process->xid);
    if (process->trouble)
        return gw_core_strdup(process->trouble);
    if (process->oom)
        return gw_core_strdup("killed: out of memory");
    if (process->signal)
        return gw_run_text("signal %d (%s)%s", process->signal, strsignal(process->signal), error);
    return gw_run_text("exit code %d%s", process->exit_code, error);
}

/* From outside, or for memory: that says nothing about its program. */
static bool was_killed(const struct gw_process *process)
{
    return process->exit_known && process->signal == KILL_SIGNAL && !process->trouble;
}

/* It failed by itself, and only then came the word that its run is to end: as where this worker was
 * stopped for a while. */
static bool fell_before(const struct gw_process *process, const struct gw_run *run)
{
    return process->unasked && (process->signal || process->exit_code) &&
           run->end.outcome == GW_OUTCOME_KILLED;
}

/* Why a runner never said hello. */
static char *start_text(const struct gw_process *process)
{
    if (!process->exit_known || process->signal || process->trouble)
        return gw_process_exit_text(process);
    return gw_run_text("the program ended (exit code %d) without becoming a runner: is gw_init the "
                       "first statement of its main?",
                       process->exit_code);
}

/* How the run that it executed ends, where nobody told the process to end. */
static void charge(struct gw_node_core *core, struct gw_process *process, struct gw_run *run)
{
    bool executing = run->state == GW_RUN_ENDING ? run->end.executing : gw_run_executes(run);
    struct gw_run_end end = {
        .outcome = GW_OUTCOME_CRASHED,
        .executing = executing,
        .code = GW_ECRASHED,
        .exit_code = process->exit_code,
        .signal = process->signal,
        .text = gw_process_exit_text(process),
    };
    if (!process->exit_known || (process->runner && !process->hello && !was_killed(process))) {
        end.outcome = GW_OUTCOME_CANNOT_START;
        end.code = GW_ESTART;
        end.executing = 0;
        end.capture = process->runner ? process->id : 0;
        if (process->runner) {
            free(end.text);
            end.text = start_text(process);
        }
        if (!process->exit_known) /* as shells have it */
            end.exit_code = process->spawn_code == GW_ENOENT ? 127 : 126;
    } else if (process->oom) {
        end.outcome = GW_OUTCOME_OOM;
    } else if (!process->runner && !process->signal) {
        end.outcome = GW_OUTCOME_FAILED;
        end.code = GW_ETASK;
    } else if (!process->signal) {
        free(end.text);
        end.text =
            process->exit_code
                ? gw_run_text("the function ended its process (exit code %d)", process->exit_code)
                : gw_core_strdup("its process ended (exit code 0) before it told its "
                                 "result: the function called exit, or closed descriptors "
                                 "that are not its own");
    }
    free(run->end.text);
    run->end = end;
    gw_run_tell(core, run);
}

void gw_process_return(struct gw_node_core *core, struct gw_run *run)
{
    gw_run_pull(run);
    gw_object_unpin(core, run);
    run->process->load_ns -= run->load_ns;
    run->process = NULL;
    if (run->killing && !GW_PLANTED(791)) {
        run->end = (struct gw_run_end){.outcome = GW_OUTCOME_KILLED, .code = GW_ECANCELLED};
        run->end.text = gw_core_strdup("killed");
        gw_run_tell(core, run);
    } else if (run->missing == 0) {
        gw_sm_move(&gw_run_sm, &run->state, GW_RUN_READY);
        gw_run_push_first(&run->pool->ready, run);
    } else {
        gw_sm_move(&gw_run_sm, &run->state, GW_RUN_WAITING);
        gw_run_push(&core->waiting, run);
    }
}

void gw_process_requeue(struct gw_node_core *core, struct gw_process *process,
                        const struct gw_run *first)
{
    while (process->queue.last != first)
        gw_process_return(core, process->queue.last);
}

/* Whether we ended it while it was well: what it executed is not charged then. */
static bool by_order(const struct gw_process *process)
{
    return process->burying && !process->cut_off;
}

/* The run that a runner crashed in, as it said itself: what is before that in its queue had ended,
 * but was not told yet, and runs again, charged to nobody. Where it has not said: the first. */
static struct gw_run *crashed_in(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_run *first = process->queue.first, *run = first;
    if (!process->began || !first || first->state != GW_RUN_SENT || by_order(process) ||
        GW_PLANTED(790))
        return first;
    while (run && run->attempt != process->began)
        run = run->next;
    if (!run)
        return first;
    gw_process_requeue(core, process, run); /* each goes before what was returned */
    while (run->prev)
        gw_process_return(core, run->prev);
    return run;
}

static void start_failed(struct gw_node_core *core, struct gw_process *process)
{
    enum { TRIES = 3 };
    struct gw_pool *pool = process->pool;
    const struct gw_run *run = process->queue.first;
    if (process->spawn_code == GW_ENOENT &&
        gw_job_program_gone(core, pool->program, process->agains) && !(run && run->gang))
        return; /* what waits for it waits on; a gang begins again, whole */
    char *text = start_text(process);
    if (++pool->start_failures >= (pool->proven || was_killed(process) ? TRIES : 1))
        gw_pool_fail(core, pool, text, process);
    free(text);
}

/* What it took was returned, as its runner had not told of it: nobody is charged. */
static bool lacks_inputs(const struct gw_run *run)
{
    return run->state == GW_RUN_SENT && run->missing > 0;
}

/* Buried, and its link closed: nothing of it can come any more. */
static void judge(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_run *run = process->queue.first;
    if (process->runner && !process->hello && (!process->burying || process->trouble))
        start_failed(core, process);
    run = process->actor ? process->queue.first : crashed_in(core, process);
    if (process->actor) {
        gw_node_actor_judge(core, process);
    } else if (run && run->state == GW_RUN_ENDING) {
        if (fell_before(process, run))
            charge(core, process, run);
        else
            gw_run_tell(core, run);
    } else if (run && !by_order(process) && !lacks_inputs(run)) {
        if (!process->runner && process->exit_known && !process->signal && !process->exit_code)
            gw_result_of_command(core, run);
        else
            charge(core, process, run);
    } else if (run && run->gang) { /* buried for what it did as a process */
        charge(core, process, run);
    }
    gw_process_requeue(core, process, NULL);
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_GONE);
    gw_process_free(core, process);
}

static void buried(struct gw_node_core *core, struct gw_process *process)
{
    leave_pool(process);
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_BURIED);
    core->slots_used -= process->lent || process->parked ? 0 : process->slots;
    core->lent -= process->lent;
    process->lent = process->parked = false;
    gw_gpu_leave(core, process);
    gw_turn_come(core, process);
    if (!process->link)
        judge(core, process);
}

void gw_process_on_spawned(struct gw_node_core *core, const struct gw_msg_spawned *spawned)
{
    struct gw_process *process = gw_process_find(core, spawned->process);
    if (!process || process->state >= GW_PROCESS_EXITED)
        return;
    if (spawned->code == GW_EAGAIN && process->state == GW_PROCESS_STARTING && !process->runner) {
        gw_turn_return(core, process);
    } else if (spawned->code < 0) {
        free(process->trouble);
        process->trouble = gw_core_strdup(spawned->text);
        process->spawn_code = spawned->code;
        buried(core, process);
    } else if (process->state == GW_PROCESS_STARTING && !process->runner) {
        gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_BUSY);
    }
}

void gw_process_on_exited(struct gw_node_core *core, const struct gw_msg_exited *exited)
{
    struct gw_process *process = gw_process_find(core, exited->process);
    if (!process || process->state >= GW_PROCESS_EXITED)
        return;
    leave_pool(process);
    process->deadline_ns = 0;
    process->exit_known = true;
    process->exit_code = exited->exit_code;
    process->signal = exited->signal;
    process->oom = exited->oom;
    process->unasked = exited->unasked;
    process->began = exited->executing;
    process->ran_ns = exited->ran_ns;
    if (process->cut_off && process->unasked) { /* how it ended is known after all */
        free(process->trouble);
        process->trouble = NULL;
    }
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_EXITED);
}

void gw_process_on_buried(struct gw_node_core *core, const struct gw_msg_buried *message)
{
    struct gw_process *process = gw_process_find(core, message->process);
    if (!process || process->state == GW_PROCESS_BURIED)
        return;
    if (process->state != GW_PROCESS_EXITED) /* its guardian says so before, always */
        gw_process_on_exited(core, &(struct gw_msg_exited){.process = message->process});
    buried(core, process);
}

void gw_process_on_close(struct gw_node_core *core, struct gw_process *process)
{
    if (process->state == GW_PROCESS_BURIED) {
        judge(core, process);
    } else if (process->state != GW_PROCESS_EXITED && !process->burying) {
        process->deadline_ns = core->now_ns + LINGER_LIMIT_NS;
        leave_pool(process);
    }
}

/* -- Time ----------------------------------------------------------------------------------------
 */

static uint64_t wall_limit_at(const struct gw_process *process)
{
    const struct gw_run *run = process->queue.first;
    if (!run || !process->head_since_ns || !run->spec->message.wall_ns || process->burying ||
        process->state == GW_PROCESS_EXITED || GW_PLANTED(430))
        return UINT64_MAX;
    uint64_t limit_ns = GW_PLANTED(432) ? 1000000 : run->spec->message.wall_ns;
    return limit_ns < UINT64_MAX - process->head_since_ns ? process->head_since_ns + limit_ns
                                                          : UINT64_MAX; /* for ever */
}

static bool tells_started(const struct gw_process *process)
{
    return process->head_since_ns && !process->started_told && !process->burying &&
           process->state == GW_PROCESS_BUSY;
}

static void too_late(struct gw_node_core *core, struct gw_process *process)
{
    if (process->actor && process->link) { /* it was to let go of its state, and took too long */
        gw_process_bury(core, process, 0);
        return;
    }
    if (!process->link && process->runner) {
        process->trouble = gw_core_strdup("the runner closed its connection and went on");
        process->cut_off = process->hello;
    } else {
        process->trouble =
            gw_core_strdup("the program did not become a runner within 20 s: is gw_init the first "
                           "statement of its main, or was it stopped (SIGSTOP)?");
    }
    gw_process_bury(core, process, 0);
}

static void tick(struct gw_node_core *core, struct gw_process *process)
{
    if (process->deadline_ns && core->now_ns >= process->deadline_ns) {
        too_late(core, process);
        return;
    }
    if (process->state == GW_PROCESS_IDLE &&
        core->now_ns - process->idle_since_ns >= core->options.runner_idle_ns) {
        gw_process_bury(core, process, IDLE_GRACE_NS);
        return;
    }
    struct gw_run *run = process->queue.first;
    if (core->now_ns >= wall_limit_at(process)) {
        struct gw_run_end end = {.outcome = GW_OUTCOME_TIMEOUT, .code = GW_ETIMEDOUT};
        char limit[GW_TEXT_SECONDS_ROOM];
        end.text = gw_run_text("ran for longer than its limit of %s",
                               gw_text_seconds(run->spec->message.wall_ns, limit));
        gw_run_end(core, run, end, run->spec->message.grace_ns);
        return;
    }
    gw_silence_tick(core, process);
    if (run && tells_started(process) &&
        core->now_ns - process->head_since_ns >= STARTED_AFTER_NS) {
        process->started_told = true;
        if (!core->registered)
            return;
        uint64_t *attempt = gw_core_scratch(core, sizeof *attempt);
        uint32_t *rank = gw_core_scratch(core, sizeof *rank);
        *attempt = run->attempt;
        *rank = run->rank;
        gw_core_send(core, core->scheduler, GW_MESSAGE_started)->message.started =
            (struct gw_msg_started){{attempt, 1}, {rank, 1}};
    }
}

void gw_process_tick(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->processes.count; i++)
        tick(core, core->processes.items[i]);
}

uint64_t gw_process_deadline_ns(const struct gw_node_core *core)
{
    uint64_t deadline = UINT64_MAX;
    for (size_t i = 0; i < core->processes.count; i++) {
        const struct gw_process *process = core->processes.items[i];
        uint64_t at = wall_limit_at(process);
        if (process->deadline_ns && process->deadline_ns < at)
            at = process->deadline_ns;
        if (process->state == GW_PROCESS_IDLE &&
            process->idle_since_ns + core->options.runner_idle_ns < at)
            at = process->idle_since_ns + core->options.runner_idle_ns;
        if (tells_started(process) && process->head_since_ns + STARTED_AFTER_NS < at)
            at = process->head_since_ns + STARTED_AFTER_NS;
        if (gw_silence_deadline_ns(process) < at)
            at = gw_silence_deadline_ns(process);
        if (at < deadline)
            deadline = at;
    }
    return deadline;
}
