/* Starts processes, and handles the first message of a runner. */
#include "worker/core/processes/spawn.h"

#include "graph/wire/frame.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/output_path.h"
#include "worker/core/objects/workdir.h"
#include "worker/core/processes/environment.h"
#include "worker/core/processes/gpu.h"
#include "worker/core/processes/process.h"

#include <inttypes.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#define HELLO_LIMIT_NS UINT64_C(20000000000)

static struct gw_msg_spawn spawn_of_runner(struct gw_node_core *core,
                                           const struct gw_runner_pool *pool,
                                           const struct gw_process *process)
{
    char *out = gw_core_scratch(core, GW_NODE_PATH_MAX);
    char *err = gw_core_scratch(core, GW_NODE_PATH_MAX);
    char *dir = gw_core_scratch(core, GW_NODE_PATH_MAX);
    const char *log_dir =
        gw_node_output_path_dir(core->options.log_dir, pool->like->message.user, dir);
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
        .memory_bytes = pool->like->message.memory_bytes,
        .slots = pool->like->slots,
        .checkpoints = "",
        .cpus = gw_gpu_cpus(core, process, pool->like),
    };
}

static struct gw_msg_spawn spawn_of_command(struct gw_node_core *core, const struct gw_attempt *run,
                                            const struct gw_process *process)
{
    char *out = gw_core_scratch(core, GW_NODE_PATH_MAX);
    char *err = gw_core_scratch(core, GW_NODE_PATH_MAX);
    struct gw_node_place place;
    struct gw_bin argv = gw_environment_argv(core, run);
    const uint32_t streams = run->spec->message.streams;
    gw_attempt_place(run, &place);
    gw_node_output_path(core->options.log_dir, &place, "out", out);
    gw_node_output_path(core->options.log_dir, &place, "err", err);
    return (struct gw_msg_spawn){
        .process = process->id,
        .path = gw_environment_first(core, argv),
        .argv = argv,
        .env = gw_environment_of_command(core, run),
        .cwd = gw_workdir_of(run),
        .out = out,
        .err = err,
        .output_bytes_max = run->spec->message.output_bytes_max,
        .checkpoints = gw_environment_checkpoints(core, run),
        .epilog = run->spec->message.epilog,
        .cpus = gw_gpu_cpus(core, process, run->spec),
        .memory_bytes = run->spec->message.memory_bytes,
        .slots = run->spec->slots,
        .held = (streams & GW_STREAM_HELD) != 0,
        .in = (streams & GW_STREAM_INPUT) && (!run->gang || run->rank == 0),
    };
}

struct gw_process *gw_spawn_process(struct gw_node_core *core, struct gw_runner_pool *pool,
                                    struct gw_attempt *run, struct gw_process *behind)
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
            gw_process_count_starting(process, true);
        process->agains = pool->program->agains;
        spawn = spawn_of_runner(core, pool, process);
    } else {
        spawn = spawn_of_command(core, run, process);
        spawn.behind = behind ? behind->id : 0;
        gw_process_give(core, process, run);
        process->head_since_ns = behind ? 0 : core->now_ns;
    }
    struct gw_effect *effect = gw_core_send(core, core->supervisor, GW_MESSAGE_spawn);
    effect->message.spawn = spawn;
    if (!pool && (run->rank == 0 || run->rank == GW_RANK_NONE))
        effect->metrics = run->spec->message.metrics;
    if (!pool && run->spec->speaks) {
        effect->number = run->attempt;
        effect->count = run->rank;
        effect->bytes = run->spec->address;
    }
    return process;
}

/* Adds the names of a MessagePack list to the functions of a pool. Returns false if the list is
 * malformed. */
static bool read_functions(struct gw_runner_pool *pool, struct gw_bin list)
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

int gw_spawn_on_hello(struct gw_node_core *core, struct gw_process *process,
                      const struct gw_msg_runner *hello)
{
    if (process->state == GW_PROCESS_EXITED)
        return 0;
    if (process->state != GW_PROCESS_STARTING || process->hello)
        return GW_EPROTO;
    if (hello->protocol != GW_PROTOCOL && hello->protocol + 1 != GW_PROTOCOL) {
        process->trouble = gw_attempt_text(
            "the program was built with another version of Gangway (runner protocol %" PRIu32
            "; this worker has %d): build it with the libgangway of this version",
            hello->protocol, GW_PROTOCOL);
        gw_process_reap(core, process, 0);
        return 0;
    }
    if (!read_functions(process->pool, hello->functions))
        return GW_EPROTO;
    struct gw_attempt *run = process->queue.first;
    process->hello = true;
    process->deadline_ns = 0;
    process->pool->proven = true;
    process->pool->start_failures = 0;
    process->pool->program->again = false;
    gw_process_count_starting(process, false);
    gw_process_make_idle(core, process);
    if (run)
        gw_attempt_bind(core, run);
    return 0;
}
