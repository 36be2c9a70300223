/* Submitting: graphs, single calls, maps over many arguments, values. */
#include "client/submission.h"

#include "client/inline.h"
#include "graph/base/clock.h"
#include "graph/wire/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAP_CALLS_MAX = 1 << 30 };

/* A program that submits functions must hold them: they run in this same program, started again. */
static int check_function(const struct gw_function *function, struct gw_error *error)
{
    if (gw_function_find(function->name))
        return 0;
    return gw_error_set(error, GW_ENOENT,
                        "this program has no task \"%s\": GW_TASK(%s) must be in it, at file scope",
                        function->name, function->name);
}

/* What a job needs of the cluster: slots at once, and whether it needs this program. */
static int needs(const struct gw_graph_rows *rows, uint32_t *slots, bool *program,
                 struct gw_error *error)
{
    *slots = 0;
    *program = false;
    for (uint32_t i = 0; i < rows->spec_count; i++) {
        const struct gw_task_options *options = &rows->specs[i].options;
        uint64_t wanted =
            (uint64_t)(options->ranks ? options->ranks : 1) * (options->slots ? options->slots : 1);
        if (wanted > *slots)
            *slots = wanted > UINT32_MAX ? UINT32_MAX : (uint32_t)wanted;
        if (rows->specs[i].kind != GW_SPEC_FUNCTION)
            continue;
        *program = true;
        int rc = check_function(rows->specs[i].function, error);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* -- Targets -------------------------------------------------------------------------------------
 */

/* Nodes that futures are wanted of, in the order of rows. */
struct target {
    uint32_t row;
    uint32_t at; /* in the caller's arrays */
};

static int by_row(const void *a, const void *b)
{
    const struct target *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

struct targets {
    struct target *items;
    uint32_t *rows; /* ascending, maybe repeated */
    uint32_t count;
};

static void targets_deinit(struct targets *targets)
{
    free(targets->items);
    free(targets->rows);
}

static int targets_init(struct targets *targets, const struct gw_graph_rows *rows,
                        const gw_node *nodes, struct gw_error *error)
{
    size_t count = targets->count;
    targets->items = calloc(count + 1, sizeof *targets->items);
    targets->rows = calloc(count + 1, sizeof *targets->rows);
    if (!targets->items || !targets->rows)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row =
            nodes[i].index < rows->node_count ? rows->row_of_node[nodes[i].index] : UINT32_MAX;
        if (row >= rows->count)
            return gw_error_set(error, GW_EINVAL,
                                "node %u is no task of this graph: no future of it can be given",
                                nodes[i].index);
        targets->items[i] = (struct target){row, i};
    }
    qsort(targets->items, count, sizeof *targets->items, by_row);
    for (uint32_t i = 0; i < count; i++)
        targets->rows[i] = targets->items[i].row;
    return 0;
}

/* -- Graphs --------------------------------------------------------------------------------------
 */

static const char *spec_name(const struct gw_graph_spec *spec)
{
    if (spec->kind == GW_SPEC_FUNCTION)
        return spec->function->name;
    const char *path = spec->argv && spec->argv[0] ? spec->argv[0] : "command";
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int send_rows(struct gw_submission *submission, const struct gw_graph_rows *rows,
                     const struct targets *targets, struct gw_error *error)
{
    uint32_t next = 0;
    int rc = 0;
    for (uint32_t i = 0; i < rows->spec_count && rc == 0; i++)
        rc = gw_submission_spec(submission, i, &rows->specs[i], error);
    for (uint32_t i = 0; i < rows->count && rc == 0; i++) {
        uint32_t first = rows->deps_at[i];
        struct gw_chunk_row row = {
            .row = i,
            .spec = rows->spec[i],
            .args = rows->args + rows->args_at[i],
            .args_bytes = rows->args_at[i + 1] - rows->args_at[i],
            .dep_job = rows->dep_job + first,
            .dep_index = rows->dep_row + first,
            .dep_rank = rows->dep_rank + first,
            .dep_count = rows->deps_at[i + 1] - first,
            .name = rows->names[i],
            .target = next < targets->count && targets->rows[next] == i,
        };
        for (; next < targets->count && targets->rows[next] == i; next++)
            submission->bundle->futures[next].ranks = rows->specs[rows->spec[i]].options.ranks;
        rc = gw_submission_row(submission, &row, error);
    }
    return rc;
}

static int submit_rows(struct gw_client *client, const struct gw_graph_rows *rows,
                       const struct gw_submit_options *options, const struct targets *targets,
                       struct gw_bundle **bundle, struct gw_error *error)
{
    uint32_t slots, first = targets->count ? targets->rows[0] : 0;
    bool program;
    int rc = needs(rows, &slots, &program, error);
    if (rc == 0 && client->inlined)
        return gw_inline_submit(client, rows, targets->rows, targets->count, bundle, error);
    if (rc == 0)
        rc = gw_client_start(client, slots, error);
    if (rc == 0 && program)
        rc = gw_client_ship(client, error);
    if (rc < 0)
        return rc;

    const char *named =
        rows->names[first] ? rows->names[first] : spec_name(&rows->specs[rows->spec[first]]);
    struct gw_submission submission;
    const struct gw_submission_options opened = {
        .name = options && options->name ? options->name : named,
        .detached = options && options->detached,
        .target_rows = targets->rows,
        .target_count = targets->count,
    };
    rc = gw_submission_open(&submission, client, &opened, error);
    *bundle = submission.bundle;
    if (rc == 0)
        rc = send_rows(&submission, rows, targets, error);
    if (rc == 0)
        rc = gw_submission_finish(&submission, error);
    gw_submission_close(&submission);
    return rc;
}

int gw_client_submit_many(struct gw_client *client, struct gw_graph *graph,
                          const struct gw_submit_options *options, const gw_node *nodes,
                          size_t count, struct gw_future **futures, struct gw_error *error)
{
    struct gw_graph_rows rows;
    struct targets targets = {.count = (uint32_t)count};
    if (count > MAP_CALLS_MAX)
        return gw_error_set(error, GW_EINVAL, "%zu futures are more than a client holds", count);
    int rc = gw_graph_seal(graph, &rows, error);
    if (rc < 0)
        return rc;
    if (rows.count == 0)
        return gw_error_set(error, GW_EINVAL, "the graph has no task");
    rc = targets_init(&targets, &rows, nodes, error);
    struct gw_bundle *bundle = NULL;
    if (rc == 0)
        rc = submit_rows(client, &rows, options, &targets, &bundle, error);
    for (uint32_t i = 0; i < count && rc == 0; i++)
        futures[targets.items[i].at] = &bundle->futures[i];
    if (rc == 0 && count == 0)
        gw_bundle_drop(bundle);
    targets_deinit(&targets);
    return rc;
}

int gw_client_submit(struct gw_client *client, struct gw_graph *graph, gw_node node,
                     struct gw_future **future, struct gw_error *error)
{
    return gw_client_submit_many(client, graph, NULL, &node, 1, future, error);
}

int gw_submit_call(struct gw_client *client, struct gw_future **future, struct gw_error *error,
                   const struct gw_function *function, const struct gw_task_options *options,
                   struct gw_value **values, size_t count)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_graph_call(graph, function, options, values, count);
    int rc = gw_client_submit(client, graph, node, future, error);
    gw_graph_free(graph);
    return rc;
}

struct gw_value *gw_ref_future(struct gw_graph *graph, const struct gw_future *future)
{
    return gw_ref(gw_graph_external(graph, gw_future_job(future), gw_future_index(future)));
}

/* -- Maps ----------------------------------------------------------------------------------------
 */

static int check_plain(size_t i, size_t k, const struct gw_value *value, struct gw_error *error)
{
    if (gw_value_type(value) != GW_REF)
        return 0;
    return gw_error_set(error, GW_EINVAL,
                        "call %zu, argument %zu is a reference, which gw_map does not take: make a "
                        "graph of gw_call",
                        i, k);
}

/* The MessagePack list of one call's arguments; the values are taken. */
static int encode_call(const struct gw_map_call *call, size_t i, struct gw_value **values,
                       struct gw_buffer *buffer, struct gw_error *error)
{
    size_t count = call->arg_count;
    memset(values, 0, count * sizeof *values);
    int rc = call->make_args(i, values, call->arg);
    if (rc < 0)
        gw_error_set(error, rc, "the arguments of call %zu cannot be made: %s", i,
                     gw_error_text(rc));
    uint8_t head[3] = {0xdc, (uint8_t)(count >> 8), (uint8_t)count};
    buffer->size = 0;
    if (count < 16)
        head[0] = (uint8_t)(0x90 | count);
    if (rc >= 0 && (rc = gw_buffer_append(buffer, head, count < 16 ? 1 : 3)) < 0)
        gw_error_set(error, rc, "out of memory");
    for (size_t k = 0; k < count; k++) {
        if (rc >= 0)
            rc = check_plain(i, k, values[k], error);
        if (rc >= 0 && (rc = values[k] ? gw_codec_encode(values[k], NULL, buffer) : GW_ENOMEM) < 0)
            gw_error_set(error, rc, "call %zu, argument %zu: %s", i, k, gw_error_text(rc));
        gw_value_unref(values[k]);
    }
    return rc;
}

static int send_calls(struct gw_submission *submission, const struct gw_map_call *call,
                      struct gw_error *error)
{
    struct gw_value *values[UINT8_MAX];
    struct gw_buffer buffer = {0};
    int rc = 0;
    for (size_t i = 0; i < call->count && rc >= 0; i++) {
        rc = encode_call(call, i, values, &buffer, error);
        if (rc < 0)
            break;
        struct gw_chunk_row row = {
            .row = (uint32_t)i, .args = buffer.data, .args_bytes = buffer.size, .target = true};
        rc = gw_submission_row(submission, &row, error);
    }
    gw_buffer_deinit(&buffer);
    return rc;
}

/* Without a cluster a map is a graph of its calls. */
static int map_inline(struct gw_client *client, const struct gw_map_call *call,
                      struct gw_future **futures, struct gw_error *error)
{
    struct gw_value *values[UINT8_MAX];
    struct gw_graph *graph = gw_graph_new();
    gw_node *nodes = calloc(call->count, sizeof *nodes);
    int rc = nodes ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; i < call->count && rc == 0; i++) {
        memset(values, 0, sizeof values);
        rc = call->make_args(i, values, call->arg);
        if (rc < 0)
            gw_error_set(error, rc, "the arguments of call %zu cannot be made", i);
        for (size_t k = 0; k < call->arg_count && rc == 0; k++)
            rc = check_plain(i, k, values[k], error);
        for (size_t k = 0; k < call->arg_count && rc < 0; k++)
            gw_value_unref(values[k]);
        if (rc == 0)
            nodes[i] = gw_graph_call(graph, call->function, call->options, values, call->arg_count);
    }
    if (rc == 0)
        rc = gw_client_submit_many(client, graph, NULL, nodes, call->count, futures, error);
    gw_graph_free(graph);
    free(nodes);
    return rc;
}

int gw_map(struct gw_client *client, const struct gw_map_call *call, struct gw_future **futures,
           struct gw_error *error)
{
    if (call->count == 0)
        return 0;
    if (call->count > MAP_CALLS_MAX || call->arg_count > UINT8_MAX)
        return gw_error_set(error, GW_EINVAL, "gw_map takes at most %d calls of %d arguments",
                            MAP_CALLS_MAX, UINT8_MAX);
    if (client->inlined)
        return map_inline(client, call, futures, error);
    struct gw_graph_spec spec = {.kind = GW_SPEC_FUNCTION, .function = call->function};
    if (call->options)
        spec.options = *call->options;
    spec.options.name = NULL; /* a name is one task's */
    uint32_t slots;
    bool program;
    int rc =
        needs(&(struct gw_graph_rows){.specs = &spec, .spec_count = 1}, &slots, &program, error);
    if (rc == 0)
        rc = gw_client_start(client, slots, error);
    if (rc == 0)
        rc = gw_client_ship(client, error);
    if (rc < 0)
        return rc;

    struct gw_submission submission;
    const struct gw_submission_options options = {
        .name = call->options && call->options->name ? call->options->name : call->function->name,
        .target_count = (uint32_t)call->count,
    };
    rc = gw_submission_open(&submission, client, &options, error);
    struct gw_bundle *bundle = submission.bundle;
    for (size_t i = 0; i < call->count && rc == 0; i++)
        bundle->futures[i].ranks = spec.options.ranks;
    if (rc == 0)
        rc = gw_submission_spec(&submission, 0, &spec, error);
    if (rc == 0)
        rc = send_calls(&submission, call, error);
    if (rc == 0)
        rc = gw_submission_finish(&submission, error);
    gw_submission_close(&submission);
    for (size_t i = 0; i < call->count && rc == 0; i++)
        futures[i] = &bundle->futures[i];
    return rc;
}

/* -- Values --------------------------------------------------------------------------------------
 */

/* A sealed memory file with these bytes: readers may map it and know that it never changes. */
static int memory_file(const void *data, size_t bytes, struct gw_error *error)
{
    int fd = memfd_create("gangway-value", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    size_t at = 0;
    while (fd >= 0 && at < bytes) {
        ssize_t written = write(fd, (const char *)data + at, bytes - at);
        if (written < 0 && errno != EINTR)
            break;
        at += written > 0 ? (size_t)written : 0;
    }
    if (fd >= 0 && at == bytes &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0)
        return fd;
    gw_error_set(error, GW_EIO, "cannot keep %zu bytes in memory: %s", bytes, strerror(errno));
    if (fd >= 0)
        close(fd);
    return GW_EIO;
}

int gw_submit_scatter(struct gw_client *client, const void *encoded, size_t bytes, uint64_t *job,
                      struct gw_error *error)
{
    struct gw_call call;
    int fd = -1;
    gw_call_open(&call, client);
    struct gw_message message = {
        .type = GW_MESSAGE_scatter,
        .scatter = {.request = call.request, .bytes = bytes},
    };
    int rc = 0;
    if (bytes > GW_INLINE_BYTES_MAX)
        rc = fd = memory_file(encoded, bytes, error);
    else
        message.scatter.value = (struct gw_bin){encoded, (uint32_t)bytes};
    if (rc >= 0) {
        rc = gw_call_send(&call, client, &message, fd);
        if (rc == 0)
            rc = gw_call_wait(&call, client, UINT64_MAX, error);
        else
            rc = rc == GW_ECLOSED ? gw_client_down_error(client, error)
                                  : gw_error_set(error, rc, "scatter: %s", gw_error_text(rc));
    }
    if (rc == 0)
        *job = call.number;
    gw_call_close(&call, client);
    return rc;
}

int gw_scatter(struct gw_client *client, const struct gw_value *value, struct gw_future **future,
               struct gw_error *error)
{
    struct gw_buffer buffer = {0};
    struct gw_bundle *bundle = NULL;
    uint64_t job = 0, request;
    if (!value)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    int rc = client->inlined ? 0 : gw_client_start(client, 0, error);
    if (rc == 0 && (rc = gw_codec_encode(value, NULL, &buffer)) < 0)
        gw_error_set(error, rc, "scatter: %s", gw_error_text(rc));
    if (rc == 0 && !client->inlined)
        rc = gw_submit_scatter(client, buffer.data, buffer.size, &job, error);
    if (rc == 0) {
        pthread_mutex_lock(&client->lock);
        request = ++client->last_request;
        pthread_mutex_unlock(&client->lock);
        bundle = gw_bundle_new(client, request, NULL, 1);
        rc = bundle ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    if (rc == 0) {
        bool large = buffer.size > GW_INLINE_BYTES_MAX && !client->inlined;
        const struct gw_landing landing = {.encoded = large ? NULL : buffer.data,
                                           .bytes = (uint32_t)buffer.size};
        pthread_mutex_lock(&client->lock);
        bundle->job = client->inlined ? request : job;
        gw_bundle_set_value(&bundle->futures[0], 0, &landing);
        pthread_mutex_unlock(&client->lock);
        *future = &bundle->futures[0];
    }
    gw_buffer_deinit(&buffer);
    return rc;
}
