/* A world around one core of a worker; see node_world.h. */
#include "tests/unit/worker/core/node_world.h"

/* -- A world around one core ---------------------------------------------------------------------
 */

struct gw_bin bin(const void *data, size_t bytes)
{
    return (struct gw_bin){data, (uint32_t)bytes};
}

/* Stores a copy of a sent message, as it would arrive. */
static void retain(struct world *w, const struct gw_effect *effect)
{
    struct gw_message copy;
    size_t at = w->buffer.size = 0;
    assert_int_equal(gw_message_encode(&effect->message, 0, &w->buffer), 0);
    uint8_t *payload = gw_arena_copy(&w->arena, w->buffer.data + at + 8, w->buffer.size - 8);
    struct gw_error error;
    int rc = gw_message_decode(payload, w->buffer.size - 8, &w->arena, &copy, &error);
    if (rc < 0)
        fail_msg("%s: %s", gw_message_name(effect->message.type), error.text);
    assert_int_equal(gw_array_push(&w->sent, copy), 0);
    assert_int_equal(gw_array_push(&w->sent_to, effect->peer.id), 0);
}

static void looks(struct world *w, const struct gw_effect *effect)
{
    struct gw_event looked = {.type = GW_EVENT_LOOKED,
                              .number = effect->number,
                              .rank = effect->count,
                              .code = w->look_code,
                              .text = "it is not there"};
    assert_int_equal(gw_array_push(&w->looked, looked), 0);
}

static void folders(struct world *w, const struct gw_effect *effect)
{
    bool goes = effect->type == GW_EFFECT_UNFOLDER;
    uint64_t *last = goes                               ? &w->folder_gone
                     : effect->type == GW_EFFECT_FOLDER ? &w->folder
                                                        : &w->counted;
    *last = effect->number;
    w->folders_gone += goes;
}

int step(struct world *w, struct gw_event event)
{
    event.now_ns = w->now_ns;
    int rc = gw_node_core_step(w->core, &event, &w->effects);
    for (size_t i = 0; i < w->effects.list.count; i++) {
        const struct gw_effect *effect = &w->effects.list.items[i];
        switch (effect->type) {
        case GW_EFFECT_SEND:
            retain(w, effect);
            w->lazy += effect->lazy;
            if (effect->message.type == GW_MESSAGE_spawn) {
                w->processes = effect->message.spawn.process;
                if (effect->message.spawn.runner)
                    assert_int_equal(gw_array_push(&w->fresh, w->processes), 0);
            }
            break;
        case GW_EFFECT_CONNECT:
            w->connects++;
            break;
        case GW_EFFECT_PROGRAM:
            w->programs++;
            break;
        case GW_EFFECT_LEASE:
            w->leases++;
            w->leased_attempt = effect->number;
            break;
        case GW_EFFECT_UNLEASE:
            w->unleases++;
            break;
        case GW_EFFECT_UNBIND:
            w->unbinds++;
            break;
        case GW_EFFECT_ABORT:
            w->aborts++;
            break;
        case GW_EFFECT_DROP_TOKEN:
        case GW_EFFECT_EMPTY:
            ++*(effect->type == GW_EFFECT_EMPTY ? &w->emptied : &w->drops);
            break;
        case GW_EFFECT_SPILL:
        case GW_EFFECT_RESTORE:
        case GW_EFFECT_UNLINK:
            assert_int_equal(gw_array_push(&w->disk, *effect), 0);
            break;
        case GW_EFFECT_LOOK:
            looks(w, effect);
            break;
        case GW_EFFECT_FOLDER:
        case GW_EFFECT_UNFOLDER:
        case GW_EFFECT_COUNT:
            folders(w, effect);
            break;
        case GW_EFFECT_EXIT:
            w->exits++;
            break;
        case GW_EFFECT_CLOSE:
            w->scheduler_closed |= effect->peer.id == SCHEDULER;
            break;
        }
    }
    gw_node_core_check(w->core);
    while (w->looked.count)
        raise_event(w, w->looked.items[--w->looked.count]);
    while (w->fresh.count) {
        uint64_t process = w->fresh.items[--w->fresh.count];
        assert_int_equal(gw_map_put(&w->open_runners, process, 1), 0);
        raise_event(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                         .peer = {RUNNER + process},
                                         .number = process,
                                         .role = GW_ROLE_RUNNER});
    }
    return rc;
}

void raise_event(struct world *w, struct gw_event event)
{
    assert_int_equal(step(w, event), 0);
}

/* A message from a peer; the content of its columns lives during the call. */
int deliver_with(struct world *w, uint64_t from, struct gw_message message, const uint64_t *tokens,
                 uint32_t token_count)
{
    message.term = 7 + w->lives;
    message.peer = 9;
    message.sequence = ++w->sequence;
    return step(w, (struct gw_event){.type = GW_EVENT_MESSAGE,
                                     .peer = {from},
                                     .message = &message,
                                     .tokens = tokens,
                                     .token_count = token_count});
}

void deliver(struct world *w, uint64_t from, struct gw_message message)
{
    assert_int_equal(deliver_with(w, from, message, NULL, 0), 0);
}

void tick(struct world *w, uint64_t ns)
{
    w->now_ns += ns;
    raise_event(w, (struct gw_event){.type = GW_EVENT_TICK});
}

void forget_sent(struct world *w)
{
    gw_array_clear(&w->sent);
    gw_array_clear(&w->sent_to);
}

/* The nth message of a type since the last forget_sent; NULL: there are fewer. */
const struct gw_message *sent(const struct world *w, uint32_t type, size_t n)
{
    for (size_t i = 0; i < w->sent.count; i++)
        if (w->sent.items[i].type == type && n-- == 0)
            return &w->sent.items[i];
    return NULL;
}

const struct gw_message *must_send(const struct world *w, uint32_t type)
{
    const struct gw_message *message = sent(w, type, 0);
    if (!message)
        fail_msg("no %s was sent", gw_message_name(type));
    return message;
}

void open_scheduler(struct world *w)
{
    raise_event(w, (struct gw_event){
                       .type = GW_EVENT_OPEN, .peer = {SCHEDULER}, .role = GW_ROLE_SCHEDULER});
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_welcome, .welcome = {5, "0.1.0", "/s"}});
}

struct world *new_world(uint32_t slots)
{
    return new_world_limited(slots, &(struct gw_node_options){0});
}

struct world *new_world_limited(uint32_t slots, const struct gw_node_options *memory)
{
    struct world *w = calloc(1, sizeof *w);
    const struct gw_node_gpu gpus[] = {
        {.uuid = "GPU-a", .name = "X", .cpus = "0-3,8", .memory_bytes = 16000},
        {.uuid = "GPU-b", .name = "X", .memory_bytes = 16000}};
    w->core = gw_node_core_new(&(struct gw_node_options){
        .slots = slots,
        .memory_bytes = memory->memory_bytes,
        .target_permille = memory->target_permille,
        .spill_permille = memory->spill_permille,
        .pause_permille = memory->pause_permille,
        .terminate_permille = memory->terminate_permille,
        .descriptors_max = memory->descriptors_max,
        .cores = 8,
        .gpus = memory->gpus ? memory->gpus : gpus,
        .gpu_count = 2,
        .gpus_watched = memory->gpus_watched,
        .host = "here",
        .address = "/d/worker.sock",
        .log_dir = "/d/logs",
        .checkpoint_dir = "/d/checkpoints",
        .retained_bytes_max = memory->retained_bytes_max,
        .health_checks = memory->health_checks,
    });
    w->now_ns = SECOND;
    raise_event(w, (struct gw_event){.type = GW_EVENT_START, .number = 77});
    raise_event(w, (struct gw_event){
                       .type = GW_EVENT_OPEN, .peer = {SUPERVISOR}, .role = GW_ROLE_SUPERVISOR});
    open_scheduler(w);
    return w;
}

void free_world(struct world *w)
{
    gw_node_core_free(w->core);
    gw_array_deinit(&w->sent);
    gw_array_deinit(&w->sent_to);
    gw_array_deinit(&w->fresh);
    gw_array_deinit(&w->looked);
    gw_array_deinit(&w->disk);
    gw_map_deinit(&w->open_runners);
    gw_array_deinit(&w->effects.list);
    gw_arena_deinit(&w->effects.arena);
    gw_arena_deinit(&w->arena);
    gw_buffer_deinit(&w->buffer);
    free(w);
}

/* -- What the other side says --------------------------------------------------------------------
 */

static const uint8_t program_hash[32] = {1, 2, 3};

void send_spec(struct world *w, struct gw_msg_spec spec)
{
    spec.key = spec.key ? spec.key : 1;
    spec.slots = spec.slots ? spec.slots : 1;
    if (spec.kind == GW_SPEC_FUNCTION)
        spec.program = bin(program_hash, sizeof program_hash);
    else if (!spec.argv.size)
        spec.argv = bin("\x91\xa4true", 6);
    deliver(w, SCHEDULER, (struct gw_message){.type = GW_MESSAGE_spec, .spec = spec});
}

void program_ready(struct world *w, int code, const char *text)
{
    raise_event(w, (struct gw_event){.type = GW_EVENT_PROGRAM,
                                     .code = code,
                                     .text = text,
                                     .hash = bin(program_hash, sizeof program_hash)});
}

/* A spec of function "f" with its program. */
void function_spec(struct world *w, struct gw_msg_spec spec)
{
    spec.kind = GW_SPEC_FUNCTION;
    spec.function = spec.function ? spec.function : "f";
    send_spec(w, spec);
    program_ready(w, 0, "/d/programs/p/prog");
}

int assign(struct world *w, struct task task)
{
    uint64_t job = task.job ? task.job : 1, dep_job = task.dep ? task.dep->job : 0,
             dep_bytes = 10000;
    if (task.dep && task.dep->worker == GW_DEP_HERE)
        dep_bytes = task.dep->maker;
    uint32_t rank = task.rank ? task.rank - 1 : GW_RANK_NONE, try_number = 0;
    uint32_t gpu_count = task.gpu != 0, gpu = task.gpu - 1, args_size = 1, size = 0;
    uint32_t deps = task.dep != NULL;
    struct dep none = {0};
    const struct dep *dep = task.dep ? task.dep : &none;
    struct gw_message message = {.type = GW_MESSAGE_assign};
    message.assign = (struct gw_msg_assign){
        .job = {&job, 1},
        .index = {&task.index, 1},
        .spec = {&task.spec, 1},
        .attempt = {&task.attempt, 1},
        .try_number = {&try_number, 1},
        .rank = {&rank, 1},
        .gpu_count = {&gpu_count, 1},
        .gpus = {&gpu, gpu_count},
        .args_size = {&args_size, 1},
        .args = bin("\x90", 1),
        .dep_count = {&deps, 1},
        .dep_job = {&dep_job, deps},
        .dep_index = {&dep->index, deps},
        .dep_rank = {&dep->rank, deps},
        .dep_bytes = {&dep_bytes, deps},
        .dep_worker = {&dep->worker, deps},
        .dep_value_size = {&size, deps},
    };
    return deliver_with(w, SCHEDULER, message, NULL, 0);
}

void must_assign(struct world *w, struct task task)
{
    assert_int_equal(assign(w, task), 0);
}

void hello(struct world *w, uint64_t process, uint32_t protocol)
{
    deliver(w, RUNNER + process,
            (struct gw_message){.type = GW_MESSAGE_runner,
                                .runner = {protocol, bin("\x92\xa1"
                                                         "f\xa1g",
                                                         5)}});
}

/* A result row of a runner; bytes > 0: by descriptor (token 50). */
int finish(struct world *w, uint64_t process, uint64_t attempt, uint32_t rank, uint64_t bytes,
           uint64_t run_ns)
{
    bool lacks = bytes == NO_DESCRIPTOR;
    uint32_t size = bytes ? 0 : 1;
    uint64_t one = 1, token = 50;
    struct gw_message message = {.type = GW_MESSAGE_finished};
    message.finished = (struct gw_msg_finished){
        .attempt = {&attempt, 1},
        .rank = {&rank, 1},
        .bytes = {bytes ? &bytes : &one, 1},
        .value_size = {&size, 1},
        .values = bin("\x07", size),
        .run_ns = {&run_ns, 1},
    };
    return deliver_with(w, RUNNER + process, message, &token, bytes > 0 && !lacks);
}

void spawned(struct world *w, uint64_t process, int code, const char *text)
{
    deliver(
        w, SUPERVISOR,
        (struct gw_message){.type = GW_MESSAGE_spawned, .spawned = {process, 1234, code, text}});
}

void runner_closes(struct world *w, uint64_t process)
{
    if (gw_map_remove(&w->open_runners, process))
        raise_event(w, (struct gw_event){
                           .type = GW_EVENT_CLOSE, .peer = {RUNNER + process}, .text = "closed"});
}

void reap(struct world *w, uint64_t process)
{
    deliver(w, SUPERVISOR, (struct gw_message){.type = GW_MESSAGE_reaped, .reaped = {process}});
}

void exits(struct world *w, uint64_t process, int exit_code, int signal)
{
    deliver(
        w, SUPERVISOR,
        (struct gw_message){.type = GW_MESSAGE_exited, .exited = {process, exit_code, signal, 0}});
}

void dies(struct world *w, uint64_t process, int exit_code, int signal)
{
    exits(w, process, exit_code, signal);
    runner_closes(w, process);
    reap(w, process);
}

void kill_attempt(struct world *w, uint64_t attempt, uint32_t reason)
{
    deliver(
        w, SCHEDULER,
        (struct gw_message){.type = GW_MESSAGE_kill, .kill = {{&attempt, 1}, 3 * SECOND, reason}});
}

/* A runner of the function spec 0 that has said hello and executes attempt 1. */
struct world *world_with_runner(struct gw_msg_spec spec)
{
    struct world *w = new_world(2);
    function_spec(w, spec);
    must_assign(w, (struct task){.attempt = 1});
    assert_int_equal(w->processes, 1);
    spawned(w, 1, 0, "");
    hello(w, 1, GW_PROTOCOL);
    return w;
}

void send_gang(struct world *w, uint64_t attempt, uint32_t world)
{
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang, .gang = {attempt, world, 0, world, 0, 1}});
}

void leased(struct world *w, uint64_t attempt)
{
    uint64_t token = 60;
    raise_event(w, (struct gw_event){.type = GW_EVENT_LEASED,
                                     .number = attempt,
                                     .code = 4321,
                                     .text = "127.0.0.1",
                                     .tokens = &token,
                                     .token_count = 1});
}
