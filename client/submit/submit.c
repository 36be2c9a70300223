/* Submits graphs, single calls, and maps over many arguments. */
#include "client/submit/submit.h"

#include "client/results/resubmit_log.h"
#include "client/submit/inline.h"
#include "client/submit/large_args.h"
#include "client/submit/submission.h"
#include "client/submit/targets.h"
#include "graph/base/clock.h"
#include "graph/base/options_read.h"
#include "graph/wire/codec.h"
#include "graph/wire/content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAP_CALLS_MAX = 1 << 30, EARLY_TARGETS_MAX = 1 << 24, BLOCK_ROWS = 1 << 14 };

/* -- Graphs --------------------------------------------------------------------------------------
 */

static const char *spec_name(const struct gw_graph_spec *spec)
{
    if (spec->kind == GW_SPEC_FUNCTION)
        return spec->function->name;
    const char *path = spec->argv && spec->argv[0] ? spec->argv[0] : "command";
    const char *slash = strrchr(path, '/');
    return gw_submission_named(slash ? slash + 1 : path);
}

static int send_specs(struct gw_submission *submission, const struct gw_graph_rows *rows,
                      struct gw_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; i < rows->spec_count && rc == 0; i++)
        rc = gw_submission_spec(submission, i, &rows->specs[i], error);
    return rc < 0 ? rc : gw_submission_after(submission, error);
}

/* Sends the rows of the graph, starting at row `from`. */
static int send_rows(struct gw_submission *submission, const struct gw_graph_rows *rows,
                     const struct gw_targets *targets, uint32_t from, struct gw_error *error)
{
    uint32_t next = 0;
    int rc = 0;
    while (next < targets->count && targets->rows[next] < from)
        next++;
    for (uint32_t i = from; i < rows->count && rc == 0; i++) {
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
            .whole = rows->specs[rows->spec[i]].kind == GW_SPEC_COMMAND,
        };
        for (; next < targets->count && targets->rows[next] == i; next++)
            submission->group->futures[next].ranks = rows->specs[rows->spec[i]].options.ranks;
        rc = gw_submission_row(submission, &row, error);
    }
    return rc;
}

static int open_job(struct gw_submission *submission, struct gw_client *client,
                    const struct gw_graph_rows *rows, const struct gw_submit_options *options,
                    const struct gw_targets *targets, struct gw_error *error)
{
    static const struct gw_submit_options defaults = GW_INIT(gw_submit_options);
    if (!options)
        options = &defaults;
    uint32_t first = targets->count && targets->rows[0] < rows->count ? targets->rows[0] : 0;
    const char *named =
        rows->names[first] ? rows->names[first] : spec_name(&rows->specs[rows->spec[first]]);
    const struct gw_submission_options opened = {
        .name = options->name ? options->name : named,
        .detached = options->detached,
        .key = options->key,
        .account = options->account,
        .queue = options->queue,
        .target_rows = targets->rows,
        .target_count = targets->count,
        .after = {options->after, options->after_count, options->after_any},
    };
    return gw_submission_open(submission, client, &opened, error);
}

/* Whether the submission is one call of a function without options, names and inputs, with one
 * future. Such a call can be sent without waiting for the scheduler's answer. */
static bool is_plain(const struct gw_graph_rows *rows, const struct gw_submit_options *options,
                     const struct gw_targets *targets)
{
    static const struct gw_task_options none;
    if (options || rows->count != 1 || rows->spec_count != 1 || targets->count != 1)
        return false;
    const struct gw_graph_spec *spec = &rows->specs[0];
    return spec->kind == GW_SPEC_FUNCTION && !spec->env && !spec->cwd && !spec->actor &&
           !rows->names[0] && rows->deps_at[1] == rows->deps_at[0] &&
           rows->args_at[1] - rows->args_at[0] <= GW_LARGE_ARGS_BYTES &&
           memcmp(&spec->options, &none, sizeof none) == 0;
}

/* Sends a whole job and does not wait for the answer. */
static int send_job(struct gw_submission *submission, struct gw_client *client,
                    const struct gw_graph_rows *rows, const struct gw_submit_options *options,
                    const struct gw_targets *targets, struct gw_error *error)
{
    int rc = open_job(submission, client, rows, options, targets, error);
    submission->plain = is_plain(rows, options, targets);
    if (rc == 0)
        rc = send_specs(submission, rows, error);
    if (rc == 0)
        rc = send_rows(submission, rows, targets, 0, error);
    return rc < 0 ? rc : gw_submission_send(submission, error);
}

static int submit_rows(struct gw_client *client, const struct gw_graph_rows *rows,
                       const struct gw_submit_options *options, const struct gw_targets *targets,
                       struct gw_future_group **group, struct gw_error *error)
{
    int rc = gw_submission_prepare(client, rows->specs, rows->spec_count, error);
    if (rc < 0)
        return rc;
    if (client->inlined)
        return gw_inline_submit(client, rows, targets->rows, targets->count, group, error);

    struct gw_submission submission;
    rc = send_job(&submission, client, rows, options, targets, error);
    *group = submission.group;
    if (rc == 0)
        rc = gw_submission_wait(&submission, error);
    gw_submission_close(&submission);
    return rc;
}

/* The nodes for which the caller wants futures. */
struct wanted {
    const gw_node *nodes;
    size_t count;
};

/* Writes and sends the rows of a sorted graph, starting at row `from`. Each block of BLOCK_ROWS
 * rows is sent as soon as it is written. */
static int write_and_send(struct gw_submission *submission, struct gw_graph *graph,
                          const struct gw_graph_rows *rows, const struct gw_targets *targets,
                          uint32_t from, struct gw_error *error)
{
    struct gw_graph_rows written = *rows;
    int rc = 0;
    for (; from < rows->count && rc == 0; from = written.count) {
        written.count = rows->count - from > BLOCK_ROWS ? from + BLOCK_ROWS : rows->count;
        gw_graph_rows_write(graph, written.count);
        rc = send_rows(submission, &written, targets, from, error);
    }
    return rc;
}

/* Submits a large graph in two steps: its first rows (`head`) are sent, and their tasks may start,
 * before the other rows are sorted. During the first step the group knows only the rows of targets
 * in the head. The rows of the other targets are set afterwards. */
static int submit_head(struct gw_client *client, struct gw_graph *graph,
                       const struct gw_graph_rows *head, const struct gw_submit_options *options,
                       const struct wanted *wanted, struct gw_targets *targets,
                       struct gw_future_group **group, struct gw_error *error)
{
    struct gw_submission submission;
    struct gw_graph_rows rows;
    int rc = gw_submission_prepare(client, head->specs, head->spec_count, error);
    if (rc == 0)
        rc = gw_targets_init_head(targets, head, wanted->nodes, wanted->count, error);
    if (rc < 0)
        return rc;
    rc = open_job(&submission, client, head, options, targets, error);
    *group = submission.group;
    if (rc == 0)
        rc = send_specs(&submission, head, error);
    if (rc == 0)
        rc = send_rows(&submission, head, targets, 0, error);
    if (rc == 0)
        rc = gw_submission_flush(&submission, error);
    if (rc == 0)
        rc = gw_graph_rows_sort(graph, &rows, error);
    gw_targets_deinit(targets);
    *targets = (struct gw_targets){0};
    if (rc == 0)
        rc = gw_targets_init(targets, &rows, wanted->nodes, wanted->count, error);
    if (rc == 0) {
        gw_future_group_set_rows(*group, targets->rows);
        rc = write_and_send(&submission, graph, &rows, targets, head->count, error);
    }
    if (rc == 0)
        rc = gw_submission_finish(&submission, error);
    gw_submission_close(&submission);
    return rc;
}

static int submit_whole(struct gw_client *client, struct gw_graph *graph,
                        const struct gw_submit_options *options, const struct wanted *wanted,
                        struct gw_targets *targets, struct gw_future_group **group,
                        struct gw_error *error)
{
    struct gw_graph_rows rows;
    int rc = gw_graph_rows_seal(graph, &rows, error);
    if (rc == 0 && rows.count == 0)
        rc = gw_error_set(error, GW_EINVAL, "the graph has no task");
    if (rc == 0)
        rc = gw_targets_init(targets, &rows, wanted->nodes, wanted->count, error);
    return rc < 0 ? rc : submit_rows(client, &rows, options, targets, group, error);
}

int gw_client_submit_many(struct gw_client *client, struct gw_graph *graph,
                          const struct gw_submit_options *given, const gw_node *nodes, size_t count,
                          struct gw_future **futures, struct gw_error *error)
{
    struct gw_submit_options read;
    const struct gw_submit_options *options = given ? &read : NULL;
    const struct wanted wanted = {nodes, count};
    struct gw_graph_rows head = {0};
    struct gw_targets targets = {0};
    struct gw_future_group *group = NULL;
    int rc = given ? GW_OPTIONS_READ(&read, given, gw_submit_options, error) : 0;
    if (rc == 0 && !client->inlined && count <= EARLY_TARGETS_MAX)
        rc = gw_graph_rows_head(graph, &head, error);
    if (rc == 0)
        rc = head.count > 0
                 ? submit_head(client, graph, &head, options, &wanted, &targets, &group, error)
                 : submit_whole(client, graph, options, &wanted, &targets, &group, error);
    for (uint32_t i = 0; i < count && rc == 0; i++)
        futures[targets.items[i].at] = &group->futures[i];
    if (rc == 0 && count == 0)
        gw_future_group_drop(group);
    gw_targets_deinit(&targets);
    return rc;
}

/* -- Several jobs --- */

/* A job of gw_client_submit_jobs whose answer has not come. */
struct sent_job {
    struct gw_submit_options options;
    struct gw_submission submission;
    struct gw_targets targets;
};

static int seal_job(const struct gw_submit_job *job, struct sent_job *sent,
                    struct gw_graph_rows *rows, struct gw_error *error)
{
    int rc =
        job->options ? GW_OPTIONS_READ(&sent->options, job->options, gw_submit_options, error) : 0;
    if (rc == 0)
        rc = gw_graph_rows_seal(job->graph, rows, error);
    if (rc == 0 && rows->count == 0)
        rc = gw_error_set(error, GW_EINVAL, "the graph has no task");
    return rc < 0 ? rc : gw_targets_init(&sent->targets, rows, &job->node, 1, error);
}

/* Sends a job. *open becomes true if the submission is to be awaited and closed. */
static int begin_job(struct gw_client *client, const struct gw_submit_job *job,
                     struct sent_job *sent, bool *open, struct gw_error *error)
{
    struct gw_graph_rows rows;
    int rc = seal_job(job, sent, &rows, error);
    if (rc == 0)
        rc = gw_submission_prepare(client, rows.specs, rows.spec_count, error);
    *open = rc == 0;
    return rc < 0 ? rc
                  : send_job(&sent->submission, client, &rows, job->options ? &sent->options : NULL,
                             &sent->targets, error);
}

static void await_job(struct gw_submit_job *job, struct sent_job *sent)
{
    struct gw_future_group *group = sent->submission.group;
    if (gw_submission_wait(&sent->submission, &job->error) == 0)
        job->future = &group->futures[0];
    gw_submission_close(&sent->submission);
    gw_targets_deinit(&sent->targets);
}

static int send_and_await(struct gw_client *client, struct gw_submit_job *jobs, size_t count)
{
    size_t begun = 0;
    bool failed = false;
    struct sent_job *sent = calloc(count, sizeof *sent);
    if (!sent)
        return GW_ENOMEM;
    for (; begun < count && !failed; begun += !failed) {
        bool open = false;
        failed = begin_job(client, &jobs[begun], &sent[begun], &open, &jobs[begun].error) < 0;
        if (failed && open)
            gw_submission_close(&sent[begun].submission);
        if (failed)
            gw_targets_deinit(&sent[begun].targets);
    }
    for (size_t i = 0; i < begun; i++)
        await_job(&jobs[i], &sent[i]);
    free(sent);
    return 0;
}

int gw_client_submit_jobs(struct gw_client *client, struct gw_submit_job *jobs, size_t count,
                          struct gw_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < count; i++) {
        jobs[i].future = NULL;
        jobs[i].error = (struct gw_error){0};
    }
    for (size_t i = 0; i < count && client->inlined && rc == 0; i++)
        rc = gw_client_submit_many(client, jobs[i].graph, jobs[i].options, &jobs[i].node, 1,
                                   &jobs[i].future, &jobs[i].error);
    if (!client->inlined && count > 0 && send_and_await(client, jobs, count) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        if (jobs[i].error.code < 0)
            return gw_error_set(error, jobs[i].error.code, "%s", jobs[i].error.text);
    return 0;
}

/* -- Single calls --- */

int gw_submit_one(struct gw_client *client, const struct gw_graph_rows *rows, bool target,
                  struct gw_future_group **group, struct gw_error *error)
{
    const gw_node first = {0};
    struct gw_targets targets;
    struct gw_graph_rows one = *rows;
    one.row_of_node = &(const uint32_t){0};
    one.node_count = 1;
    int rc = gw_targets_init(&targets, &one, &first, target, error);
    if (rc == 0)
        rc = submit_rows(client, rows, NULL, &targets, group, error);
    gw_targets_deinit(&targets);
    return rc;
}

int gw_client_submit(struct gw_client *client, struct gw_graph *graph, gw_node node,
                     struct gw_future **future, struct gw_error *error)
{
    return gw_client_submit_many(client, graph, NULL, &node, 1, future, error);
}

int gw_submit_call(struct gw_client *client, const struct gw_function *function,
                   const struct gw_task_options *options, struct gw_value **values, size_t count,
                   struct gw_future **future, struct gw_error *error)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_graph_call(graph, function, options, values, count);
    int rc = gw_client_submit(client, graph, node, future, error);
    gw_graph_free(graph);
    return rc;
}

int gw_dispatch_call(struct gw_client *client, uint32_t ranks, const struct gw_function *function,
                     const struct gw_task_options *options, struct gw_value **values, size_t count,
                     struct gw_future **future, struct gw_error *error)
{
    struct gw_task_options gang;
    int rc = GW_OPTIONS_READ(&gang, options, gw_task_options, error);
    if (rc == 0 && ranks == 0)
        rc = gw_error_set(error, GW_EINVAL,
                          "%s: a gang has at least one rank: set `ranks` to 1 or more",
                          function->name);
    gang.ranks = ranks;
    if (rc == 0)
        return gw_submit_call(client, function, &gang, values, count, future, error);
    for (size_t i = 0; i < count; i++)
        gw_value_unref(values[i]);
    return rc;
}

struct gw_value *gw_result_future(struct gw_graph *graph, const struct gw_future *future)
{
    uint64_t job = gw_future_job(future); /* blocks until the job number is known */
    const struct gw_resubmit_log *record = future->group->record;
    return gw_result(
        gw_graph_external(graph, record ? record->name : job, gw_future_index(future)));
}

/* -- Maps ----------------------------------------------------------------------------------------
 */

/* The encoded arguments of one call, and the tasks to which their references refer. */
struct encoded_call {
    struct gw_buffer buffer;
    struct gw_codec_deps found;
    GW_ARRAY(uint64_t) dep_job;
    GW_ARRAY(uint32_t) dep_index, dep_rank;
};

static void encoded_call_deinit(struct encoded_call *encoded)
{
    gw_buffer_deinit(&encoded->buffer);
    gw_codec_deps_deinit(&encoded->found);
    gw_array_deinit(&encoded->dep_job);
    gw_array_deinit(&encoded->dep_index);
    gw_array_deinit(&encoded->dep_rank);
}

/* Finds the tasks to which the references of a call refer. */
static int resolve_call(const struct gw_map_call *call, size_t i, struct encoded_call *encoded,
                        struct gw_error *error)
{
    struct gw_codec_dep *dep;
    GW_ARRAY_EACH (&encoded->found.list, dep) {
        uint64_t job;
        uint32_t index;
        if (!gw_graph_external_of(call->graph, (gw_node){dep->index}, &job, &index))
            return gw_error_set(error, GW_EINVAL,
                                "call %zu refers to a node of the graph: gw_map takes only "
                                "references made by gw_result_future",
                                i);
        if (gw_array_push(&encoded->dep_job, job) < 0 ||
            gw_array_push(&encoded->dep_index, index) < 0 ||
            gw_array_push(&encoded->dep_rank, dep->rank) < 0)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    return 0;
}

static int check_ref(const struct gw_map_call *call, size_t i, size_t k,
                     const struct gw_value *value, struct gw_error *error)
{
    if (gw_value_type(value) != GW_RESULT || call->graph)
        return 0;
    return gw_error_set(
        error, GW_EINVAL,
        "call %zu, argument %zu is a reference: set `graph` to the graph in which it was made", i,
        k);
}

/* Encodes the arguments of one call as a MessagePack list and unrefs the values. */
static int encode_call(const struct gw_map_call *call, size_t i, struct gw_value **values,
                       struct encoded_call *encoded, struct gw_error *error)
{
    size_t count = call->arg_count;
    memset(values, 0, count * sizeof *values);
    int rc = call->make_args(i, values, call->arg);
    if (rc < 0)
        gw_error_set(error, rc, "the caller's function make_args failed for call %zu of gw_map: %s",
                     i, gw_error_text(rc));
    uint8_t head[3] = {0xdc, (uint8_t)(count >> 8), (uint8_t)count};
    encoded->buffer.size = 0;
    gw_codec_deps_clear(&encoded->found);
    gw_array_clear(&encoded->dep_job);
    gw_array_clear(&encoded->dep_index);
    gw_array_clear(&encoded->dep_rank);
    if (count < 16)
        head[0] = (uint8_t)(0x90 | count);
    if (rc >= 0 && (rc = gw_buffer_append(&encoded->buffer, head, count < 16 ? 1 : 3)) < 0)
        gw_error_set(error, rc, "out of memory");
    for (size_t k = 0; k < count; k++) {
        if (rc >= 0 && gw_value_type(values[k]) == GW_RESULT && !call->graph)
            rc = gw_error_set(error, GW_EINVAL,
                              "call %zu, argument %zu is a reference: set `graph` to the graph in "
                              "which it was made",
                              i, k);
        if (rc >= 0 &&
            (rc = values[k] ? gw_codec_encode(values[k], call->graph ? &encoded->found : NULL,
                                              &encoded->buffer)
                            : GW_ENOMEM) < 0)
            gw_error_set(error, rc, "argument %zu of call %zu of gw_map is not a valid value: %s",
                         k, i, gw_error_text(rc));
        gw_value_unref(values[k]);
    }
    return rc < 0 ? rc : resolve_call(call, i, encoded, error);
}

static int send_calls(struct gw_submission *submission, const struct gw_map_call *call,
                      struct gw_error *error)
{
    struct gw_value *values[UINT8_MAX];
    struct encoded_call encoded = {0};
    int rc = 0;
    for (size_t i = 0; i < call->count && rc >= 0; i++) {
        rc = encode_call(call, i, values, &encoded, error);
        if (rc < 0)
            break;
        struct gw_chunk_row row = {
            .row = (uint32_t)i,
            .args = encoded.buffer.data,
            .args_bytes = encoded.buffer.size,
            .dep_job = encoded.dep_job.items,
            .dep_index = encoded.dep_index.items,
            .dep_rank = encoded.dep_rank.items,
            .dep_count = (uint32_t)encoded.dep_job.count,
            .target = true,
        };
        rc = gw_submission_row(submission, &row, error);
    }
    encoded_call_deinit(&encoded);
    return rc;
}

/* With GANGWAY_INLINE=1, submits a map as a graph of its calls. */
static int map_inline(struct gw_client *client, const struct gw_map_call *call,
                      struct gw_future **futures, struct gw_error *error)
{
    struct gw_value *values[UINT8_MAX];
    struct gw_graph *graph = call->graph ? call->graph : gw_graph_new();
    gw_node *nodes = calloc(call->count, sizeof *nodes);
    int rc = nodes ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; i < call->count && rc == 0; i++) {
        memset(values, 0, sizeof values);
        rc = call->make_args(i, values, call->arg);
        if (rc < 0)
            gw_error_set(error, rc, "the caller's function make_args failed for call %zu of gw_map",
                         i);
        for (size_t k = 0; k < call->arg_count && rc == 0; k++)
            rc = check_ref(call, i, k, values[k], error);
        for (size_t k = 0; k < call->arg_count && rc < 0; k++)
            gw_value_unref(values[k]);
        if (rc == 0)
            nodes[i] = gw_graph_call(graph, call->function, call->options, values, call->arg_count);
    }
    if (rc == 0)
        rc = gw_client_submit_many(client, graph, NULL, nodes, call->count, futures, error);
    if (!call->graph)
        gw_graph_free(graph);
    free(nodes);
    return rc;
}

int gw_map(struct gw_client *client, const struct gw_map_call *given, struct gw_future **futures,
           struct gw_error *error)
{
    struct gw_map_call read;
    const struct gw_map_call *call = &read;
    int rc = GW_OPTIONS_READ(&read, given, gw_map_call, error);
    if (rc < 0 || call->count == 0)
        return rc;
    if (call->count > MAP_CALLS_MAX || call->arg_count > UINT8_MAX)
        return gw_error_set(
            error, GW_EINVAL,
            "gw_map takes at most %d calls, each of at most %d arguments: use several gw_map",
            MAP_CALLS_MAX, UINT8_MAX);
    if (client->inlined)
        return map_inline(client, call, futures, error);
    struct gw_graph_spec spec = {.kind = GW_SPEC_FUNCTION, .function = call->function};
    rc = gw_spec_set_options(&spec, call->options, error);
    const char *name = spec.options.name ? spec.options.name : call->function->name;
    spec.options.name = NULL; /* it becomes the job's name, not that of every task */
    if (rc == 0)
        rc = gw_submission_prepare(client, &spec, 1, error);
    if (rc < 0)
        return rc;

    struct gw_submission submission;
    const struct gw_submission_options options = {
        .name = name,
        .target_count = (uint32_t)call->count,
    };
    rc = gw_submission_open(&submission, client, &options, error);
    struct gw_future_group *group = submission.group;
    for (size_t i = 0; i < call->count && rc == 0; i++)
        group->futures[i].ranks = spec.options.ranks;
    if (rc == 0)
        rc = gw_submission_spec(&submission, 0, &spec, error);
    if (rc == 0)
        rc = send_calls(&submission, call, error);
    if (rc == 0)
        rc = gw_submission_finish(&submission, error);
    gw_submission_close(&submission);
    for (size_t i = 0; i < call->count && rc == 0; i++)
        futures[i] = &group->futures[i];
    return rc;
}
