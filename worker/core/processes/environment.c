/* Environment variables that a process gets in addition to those that the user set.
 *
 * Invariant: a value that the user set is never replaced. Lists are MessagePack lists of
 * "NAME=value". */
#include "worker/core/processes/environment.h"

#include "graph/wire/frame.h"
#include "worker/core/model/core.h"
#include "worker/core/model/output_path.h"
#include "worker/core/processes/rank_port.h"
#include "worker/core/processes/template.h"

#include <inttypes.h>
#include <msgpack.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ADDED_MAX = 80, TEXT_MAX = 4600 };

/* Variables to add to a user's list. */
struct added {
    struct gw_node_core *core;
    const char *lines[ADDED_MAX];
    uint32_t count;
};

static void add(struct added *added, const char *format, ...) GW_PRINTF(2, 3);

static void add(struct added *added, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0 || length >= (int)sizeof text || added->count == ADDED_MAX)
        return;
    char *line = gw_core_scratch(added->core, (size_t)length + 1);
    memcpy(line, text, (size_t)length + 1);
    added->lines[added->count++] = line;
}

/* Adds a line of any length. The line must stay valid for the step. */
static void add_line(struct added *added, const char *line)
{
    if (line && added->count < ADDED_MAX)
        added->lines[added->count++] = line;
}

static bool is_str(const msgpack_object *object)
{
    return object->type == MSGPACK_OBJECT_STR;
}

/* Returns the line in the user's list that sets the same variable as `line`, or NULL. */
static const msgpack_object *user_line(const msgpack_object *list, const char *line)
{
    size_t name = (size_t)(strchr(line, '=') - line) + 1;
    for (uint32_t i = 0; list && i < list->via.array.size; i++) {
        const msgpack_object *item = &list->via.array.ptr[i];
        if (is_str(item) && item->via.str.size >= name &&
            memcmp(item->via.str.ptr, line, name) == 0)
            return item;
    }
    return NULL;
}

static bool unpack(struct gw_bin list, msgpack_unpacked *unpacked)
{
    msgpack_unpacked_init(unpacked);
    return list.size && gw_frame_check(list.data, list.size, NULL) == 0 &&
           msgpack_unpack_next(unpacked, list.data, list.size, NULL) == MSGPACK_UNPACK_SUCCESS &&
           unpacked->data.type == MSGPACK_OBJECT_ARRAY;
}

/* How merge fills in placeholders: in the last `templates` lines of the user's list. */
struct filling {
    const struct gw_template *template;
    uint32_t templates;
};

/* Returns the user's list, followed by the added variables that the user did not set. */
static struct gw_bin merge(const struct added *added, struct gw_bin env,
                           const struct filling *filling)
{
    msgpack_unpacked unpacked;
    const msgpack_object *list = unpack(env, &unpacked) ? &unpacked.data : NULL;
    uint32_t count = 0, user = list ? list->via.array.size : 0;
    const char *retained[ADDED_MAX];
    for (uint32_t i = 0; i < added->count; i++)
        if (!user_line(list, added->lines[i]))
            retained[count++] = added->lines[i];

    msgpack_sbuffer buffer;
    msgpack_packer packer;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, user + count);
    for (uint32_t i = 0; i < user; i++) {
        const msgpack_object *line = &list->via.array.ptr[i];
        if (filling && user - i <= filling->templates && is_str(line))
            gw_template_pack(filling->template, &packer, line->via.str.ptr, line->via.str.size);
        else
            msgpack_pack_object(&packer, *line);
    }
    for (uint32_t i = 0; i < count; i++)
        msgpack_pack_str_with_body(&packer, retained[i], strlen(retained[i]));
    GW_MUST_PTR(buffer.data);
    const struct gw_bin merged = gw_core_packed(added->core, &buffer);
    msgpack_unpacked_destroy(&unpacked);
    return merged;
}

/* -- Variables of every process ------------------------------------------------------------------
 */

static void add_threads(struct added *added, uint32_t slots)
{
    const struct gw_node_options *options = &added->core->options;
    uint64_t threads = (uint64_t)options->cores * slots / options->slots;
    threads = threads ? threads : 1;
    add(added, "OMP_NUM_THREADS=%" PRIu64, threads);
    add(added, "OPENBLAS_NUM_THREADS=%" PRIu64, threads);
}

static void append_gpus(const struct gw_node_core *core, const uint32_t *gpus, uint32_t count,
                        char text[static TEXT_MAX])
{
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(text);
        snprintf(text + length, TEXT_MAX - length, "%s%s", length ? "," : "",
                 core->options.gpus[gpus[i]].uuid);
    }
}

const char *gw_environment_checkpoints(struct gw_node_core *core, const struct gw_attempt *run)
{
    char *path = gw_core_scratch(core, GW_NODE_PATH_MAX);
    const char *user = run->spec->message.user;
    snprintf(path, GW_NODE_PATH_MAX, "%s%s/%" PRIu64 "/%" PRIu32,
             *user ? user : core->options.checkpoint_dir, *user ? "/checkpoints" : "", run->job,
             run->index);
    return path;
}

/* Adds the amount of memory that a process may use on a shared GPU. */
static void add_share(struct added *added, const struct gw_node_spec *spec, const uint32_t *gpus,
                      uint32_t count)
{
    if (count && spec->message.gpu_fraction)
        add(added, "GANGWAY_GPU_MEMORY_BYTES=%" PRIu64,
            added->core->options.gpus[gpus[0]].memory_bytes / 1000 * spec->message.gpu_fraction);
}

/* Processes of tasks find a private cluster by its address: it is not at the user's default path.
 */
static void add_places(struct added *added, const char *user)
{
    char dir[GW_NODE_PATH_MAX];
    const struct gw_node_options *options = &added->core->options;
    if (added->core->options.private_socket)
        add(added, "GANGWAY_ADDRESS=unix:%s", added->core->options.private_socket);
    add(added, "GANGWAY_LOG_DIR=%s", gw_node_output_path_dir(options->log_dir, user, dir));
    if (*user)
        add(added, "GANGWAY_CHECKPOINTS=%s/checkpoints", user);
    else
        add(added, "GANGWAY_CHECKPOINTS=%s", options->checkpoint_dir);
    if (added->core->options.binary_dir)
        add(added, "GANGWAY_BINARY_DIR=%s", added->core->options.binary_dir);
}

/* Puts the `lib` folder beside a program before the user's LD_LIBRARY_PATH. */
static struct gw_bin with_libraries(struct gw_node_core *core, struct gw_bin env, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return env;
    msgpack_unpacked unpacked;
    const msgpack_object *list = unpack(env, &unpacked) ? &unpacked.data : NULL;
    const msgpack_object *users = user_line(list, "LD_LIBRARY_PATH=");
    uint32_t count = list ? list->via.array.size : 0;
    char line[2 * TEXT_MAX];
    snprintf(line, sizeof line, "LD_LIBRARY_PATH=%.*s/lib%s%.*s", (int)(slash - path), path,
             users ? ":" : "", users ? (int)users->via.str.size - 16 : 0,
             users ? users->via.str.ptr + 16 : "");
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, count + (users ? 0 : 1));
    for (uint32_t i = 0; i < count; i++)
        if (&list->via.array.ptr[i] != users)
            msgpack_pack_object(&packer, list->via.array.ptr[i]);
    msgpack_pack_str_with_body(&packer, line, strlen(line));
    GW_MUST_PTR(buffer.data);
    const struct gw_bin with = gw_core_packed(core, &buffer);
    msgpack_unpacked_destroy(&unpacked);
    return with;
}

struct gw_bin gw_environment_of_runner(struct gw_node_core *core, const struct gw_runner_pool *pool)
{
    struct added added = {.core = core};
    char gpus[TEXT_MAX] = "CUDA_VISIBLE_DEVICES=";
    char ids[TEXT_MAX] = "";
    append_gpus(core, pool->gpus, pool->gpu_count, ids);
    add_threads(&added, pool->like->slots);
    add_places(&added, pool->like->message.user);
    add(&added, "GANGWAY_RUNNER_FD=3");
    snprintf(gpus, sizeof gpus, "CUDA_VISIBLE_DEVICES=%.*s", TEXT_MAX - 32, ids);
    add(&added, "%s", gpus);
    /* NCCL reads this once per process, so it must suit gangs on one host and on several */
    if (pool->gpu_count) {
        const char *route = core->options.interface;
        add(&added, "NCCL_SOCKET_IFNAME=%s", route && *route ? route : "lo");
    }
    add_share(&added, pool->like, pool->gpus, pool->gpu_count);
    struct gw_bin env = with_libraries(core, pool->like->message.env, pool->program->path);
    return merge(&added, env, NULL);
}

/* -- Commands ------------------------------------------------------------------------------------
 */

static void add_element(struct added *added, const struct gw_template *element)
{
    static const char name[] = "GANGWAY_LINE=";
    if (element->index)
        add(added, "GANGWAY_ARRAY_INDEX=%" PRId64, element->index->via.i64);
    if (!element->line || added->count == ADDED_MAX)
        return;
    uint32_t size = element->line->size;
    char *line = gw_core_scratch(added->core, sizeof name + size);
    memcpy(line, name, sizeof name - 1);
    if (size > 0) /* an empty text may have a NULL pointer */
        memcpy(line + sizeof name - 1, element->line->ptr, size);
    line[sizeof name - 1 + size] = '\0';
    added->lines[added->count++] = line;
}

struct gw_bin gw_environment_argv(struct gw_node_core *core, const struct gw_attempt *run)
{
    struct gw_bin argv = run->spec->message.argv;
    struct gw_template template;
    msgpack_unpacked words;
    bool whole = unpack(argv, &words);
    gw_template_init(&template, run);
    if (whole && gw_template_fills(&template)) {
        msgpack_sbuffer buffer;
        msgpack_packer packer;
        msgpack_sbuffer_init(&buffer);
        msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
        msgpack_pack_array(&packer, words.data.via.array.size);
        for (uint32_t i = 0; i < words.data.via.array.size; i++) {
            const msgpack_object *word = &words.data.via.array.ptr[i];
            if (is_str(word))
                gw_template_pack(&template, &packer, word->via.str.ptr, word->via.str.size);
            else
                msgpack_pack_object(&packer, *word);
        }
        GW_MUST_PTR(buffer.data);
        argv = gw_core_packed(core, &buffer);
    }
    msgpack_unpacked_destroy(&words);
    gw_template_deinit(&template);
    return argv;
}

static const struct gw_attempt *rank_of(const struct gw_gang *gang, uint32_t rank)
{
    for (size_t i = 0; i < gang->ranks.count; i++)
        if (gang->ranks.items[i]->rank == rank)
            return gang->ranks.items[i];
    return NULL;
}

/* Adds the variables of Open MPI, since programs other than MPI programs read them, too. */
static void add_open_mpi(struct added *added, const struct gw_attempt *run)
{
    const struct gw_msg_gang *of = &run->gang->message;
    const uint32_t local_rank = run->rank - of->first_rank;
    add(added, "OMPI_COMM_WORLD_RANK=%" PRIu32, run->rank);
    add(added, "OMPI_COMM_WORLD_SIZE=%" PRIu32, of->world);
    add(added, "OMPI_COMM_WORLD_LOCAL_RANK=%" PRIu32, local_rank);
    add(added, "OMPI_COMM_WORLD_LOCAL_SIZE=%" PRIu32, of->local);
    add(added, "OMPI_COMM_WORLD_NODE_RANK=%" PRIu32, local_rank);
}

/* Adds the variables of Horovod: the ranks of this process, and the address at which the ranks meet
 * (worker/net/parts/rendezvous.c). The cross rank numbers the ranks with the same local rank over
 * all workers that have such a rank. */
static void add_horovod(struct added *added, const struct gw_attempt *run, const char *interface)
{
    const struct gw_gang *gang = run->gang;
    const struct gw_msg_gang *of = &gang->message;
    const uint32_t local_rank = run->rank - of->first_rank;
    uint32_t cross_rank = 0, cross_size = 0;
    for (uint32_t i = 0; i < of->locals.count; i++) {
        const bool has = gw_col32_at(of->locals, i) > local_rank;
        cross_rank += has && i < of->group_rank;
        cross_size += has;
    }
    add(added, "HOROVOD_RANK=%" PRIu32, run->rank);
    add(added, "HOROVOD_SIZE=%" PRIu32, of->world);
    add(added, "HOROVOD_LOCAL_RANK=%" PRIu32, local_rank);
    add(added, "HOROVOD_LOCAL_SIZE=%" PRIu32, of->local);
    add(added, "HOROVOD_CROSS_RANK=%" PRIu32, cross_rank);
    add(added, "HOROVOD_CROSS_SIZE=%" PRIu32, cross_size ? cross_size : 1);
    add(added, "HOROVOD_CONTROLLER=gloo");
    add(added, "HOROVOD_CPU_OPERATIONS=gloo");
    if (of->groups >
        1) /* several workers may run on one host, or several hosts may have the same name */
        add(added, "HOROVOD_HOSTNAME=%s.%" PRIu32, added->core->options.host, of->group_rank);
    else
        add(added, "HOROVOD_HOSTNAME=%s", added->core->options.host);
    if (interface && *interface)
        add(added, "HOROVOD_GLOO_IFACE=%s", interface);
    if (gang->rendezvous_port) {
        add(added, "HOROVOD_GLOO_RENDEZVOUS_ADDR=%s", gang->address ? gang->address : "");
        add(added, "HOROVOD_GLOO_RENDEZVOUS_PORT=%" PRIu32, gang->rendezvous_port);
    }
}

static void add_rank(struct added *added, const struct gw_attempt *run)
{
    const struct gw_gang *gang = run->gang;
    const struct gw_msg_gang *of = &gang->message;
    const char *address = gang->address ? gang->address : "";
    add(added, "RANK=%" PRIu32, run->rank);
    add(added, "WORLD_SIZE=%" PRIu32, of->world);
    add(added, "LOCAL_RANK=%" PRIu32, run->rank - of->first_rank);
    add(added, "LOCAL_WORLD_SIZE=%" PRIu32, of->local);
    add(added, "GROUP_RANK=%" PRIu32, of->group_rank);
    add(added, "NODE_RANK=%" PRIu32, of->group_rank);
    add(added, "MASTER_ADDR=%s", address);
    add(added, "MASTER_PORT=%" PRIu32, gang->port);
    add(added, "TORCHELASTIC_RESTART_COUNT=%" PRIu32, run->try_number);
    add(added, "TORCHELASTIC_MAX_RESTARTS=%" PRIu32, run->spec->message.retries);
    add(added, "GANGWAY_RANK=%" PRIu32, run->rank);
    add(added, "GANGWAY_WORLD_SIZE=%" PRIu32, of->world);
    add(added, "GANGWAY_LOCAL_RANK=%" PRIu32, run->rank - of->first_rank);
    add(added, "GANGWAY_LOCAL_WORLD_SIZE=%" PRIu32, of->local);
    const char *interface =
        strncmp(address, "127.", 4) == 0 ? "lo" : added->core->options.interface;
    if (interface && *interface) {
        add(added, "NCCL_SOCKET_IFNAME=%s", interface);
        add(added, "GLOO_SOCKET_IFNAME=%s", interface);
    }
    add_line(added, gw_rank_port_tf_config(added->core, run));
    if (run->gang->message.physical_gpu_shared)
        add(added, "GANGWAY_PHYSICAL_GPU_SHARED=1");
    add_open_mpi(added, run);
    add_horovod(added, run, interface);
}

static bool has_instance(const struct gw_node_core *core, const struct gw_attempt *run)
{
    return run->gpu_count && *core->options.gpus[run->gpus[0]].physical_gpu;
}

/* Returns true if a rank of a command sees only its own GPUs. This is so if the user asked for it,
 * or if the rank has a share of a GPU. It is also so if the rank has several GPUs, since LOCAL_RANK
 * is then not the number of a GPU. The last case is a MIG instance: of several instances, CUDA
 * would show the first one to every rank. */
static bool sees_its_own(const struct gw_node_core *core, const struct gw_attempt *run)
{
    return !run->gang || run->spec->message.gpu_isolate || run->spec->message.gpu_fraction ||
           run->gpu_count > 1 || has_instance(core, run);
}

/* Adds the GPUs that a command sees: its own, or all GPUs of the gang on this host in the order of
 * LOCAL_RANK, since scripts select their GPU by LOCAL_RANK. GANGWAY_GPUS lists the numbers of its
 * own GPUs among them. */
static void add_gpus(struct added *added, const struct gw_attempt *run)
{
    char ids[TEXT_MAX] = "", own[TEXT_MAX] = "";
    const bool alone = sees_its_own(added->core, run);
    uint32_t first = 0;
    if (alone)
        append_gpus(added->core, run->gpus, run->gpu_count, ids);
    for (uint32_t i = 0; !alone && i < run->gang->message.local; i++) {
        const struct gw_attempt *rank = rank_of(run->gang, run->gang->message.first_rank + i);
        if (!rank)
            continue;
        first += rank->rank < run->rank ? rank->gpu_count : 0;
        append_gpus(added->core, rank->gpus, rank->gpu_count, ids);
    }
    add(added, "CUDA_VISIBLE_DEVICES=%.*s", TEXT_MAX - 32, ids);
    for (uint32_t i = 0, used = 0; i < run->gpu_count && used < sizeof own; i++)
        used += (uint32_t)snprintf(own + used, sizeof own - used, "%s%" PRIu32, i ? "," : "",
                                   first + i);
    if (run->gpu_count)
        add(added, "GANGWAY_GPUS=%.*s", TEXT_MAX - 32, own);
}

struct gw_bin gw_environment_of_command(struct gw_node_core *core, const struct gw_attempt *run)
{
    struct added added = {.core = core};
    add(&added, "GANGWAY_JOB=%" PRIu64, run->job);
    add(&added, "GANGWAY_TASK=%" PRIu32, run->index);
    add(&added, "GANGWAY_ATTEMPT=%" PRIu64, run->attempt);
    add(&added, "GANGWAY_RESTART_COUNT=%" PRIu32, run->try_number);
    add(&added, "GANGWAY_CHECKPOINT_DIR=%s", gw_environment_checkpoints(core, run));
    add(&added, "PYTHONUNBUFFERED=1");
    add_threads(&added, run->spec->slots);
    add_places(&added, run->spec->message.user);
    add_gpus(&added, run);
    add_share(&added, run->spec, run->gpus, run->gpu_count);
    if (run->gang)
        add_rank(&added, run);
    struct gw_template template;
    gw_template_init(&template, run);
    add_element(&added, &template);
    const struct filling filling = {&template, run->spec->message.env_templates};
    struct gw_bin env = merge(&added, run->spec->message.env, &filling);
    gw_template_deinit(&template);
    return env;
}

void gw_environment_find_cluster(const struct gw_node_core *core, struct gw_node_spec *spec)
{
    static const char name[] = "GANGWAY_ADDRESS=";
    const struct gw_msg_spec *message = &spec->message;
    msgpack_unpacked unpacked;
    const msgpack_object *list = unpack(message->env, &unpacked) ? &unpacked.data : NULL;
    const msgpack_object *line = user_line(list, name);
    const uint32_t last = line ? (uint32_t)(list->via.array.ptr + list->via.array.size - line) : 0;
    struct gw_bin found = {"", 0};
    if (line && line->via.str.size > sizeof name - 1)
        found = (struct gw_bin){line->via.str.ptr + sizeof name - 1,
                                line->via.str.size - (uint32_t)(sizeof name - 1)};
    const bool given = line && last <= message->env_templates;
    const bool by_socket =
        found.size == 0 || (found.size > 5 && memcmp(found.data, "unix:", 5) == 0);
    const bool is_own = message->uid == core->options.uid && !core->options.far && by_socket;
    spec->speaks = message->kind == GW_SPEC_COMMAND && !given && !is_own &&
                   !(found.size && memchr(found.data, ' ', found.size));
    spec->address = found;
    msgpack_unpacked_destroy(&unpacked);
}

/* -- Arguments -----------------------------------------------------------------------------------
 */

const char *gw_environment_first(struct gw_node_core *core, struct gw_bin list)
{
    msgpack_unpacked unpacked;
    char *first = "";
    if (unpack(list, &unpacked) && unpacked.data.via.array.size &&
        is_str(&unpacked.data.via.array.ptr[0])) {
        const msgpack_object_str *text = &unpacked.data.via.array.ptr[0].via.str;
        first = gw_core_scratch(core, text->size + 1);
        memcpy(first, text->ptr, text->size);
    }
    msgpack_unpacked_destroy(&unpacked);
    return first;
}

struct gw_bin gw_environment_list1(struct gw_node_core *core, const char *text)
{
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, 1);
    msgpack_pack_str_with_body(&packer, text, strlen(text));
    return gw_core_packed(core, &buffer);
}
