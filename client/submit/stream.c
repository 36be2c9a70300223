/* Streams: a job that is submitted graph by graph.
 *
 * The rows of an added graph follow the rows of the graphs before it. The futures of each graph are
 * one group, which is one of the stream's `parts`. The request of the stream stays registered until
 * the stream is closed, because the scheduler may refuse the job at any time. */
#include "client/submit/stream.h"
#include "client/results/future_group.h"
#include "client/results/parts.h"
#include "client/submit/inline.h"
#include "client/submit/submission.h"
#include "client/submit/targets.h"
#include "graph/base/log.h"
#include "graph/base/options_read.h"
#include "graph/model/spec.h"

#include <stdlib.h>
#include <string.h>

enum { STREAMS = sizeof((struct gw_client *)NULL)->closed_streams / sizeof(uint64_t) };

struct gw_stream {
    struct gw_client *client; /* `parts` references the client */
    struct gw_submission submission;
    char *name;
    uint64_t *after;
    uint32_t rows;
    struct gw_arena arena; /* memory of `specs` */
    GW_ARRAY(struct gw_graph_spec) specs;
    struct gw_map spec_by_hash;
    struct gw_error error; /* code not 0: the stream has failed */

    struct gw_parts *parts;
    bool answered; /* guarded by the client's lock */
};

/* The scheduler has accepted the whole job or refused it. After a refusal the scheduler sends no
 * more about the job, so all pending futures fail here. */
static void stream_on_answer(struct gw_rpc *call, void *arg)
{
    struct gw_stream *stream = arg;
    stream->answered = true;
    if (call->error.code < 0 && call->error.code != GW_ECLOSED)
        for (size_t i = 0; i < stream->parts->items.count; i++)
            gw_future_group_fail_pending(stream->parts->items.items[i].group, &call->error);
    pthread_cond_broadcast(&stream->client->answered);
}

static void stream_free(struct gw_stream *stream)
{
    gw_array_deinit(&stream->specs);
    gw_map_deinit(&stream->spec_by_hash);
    gw_arena_deinit(&stream->arena);
    free(stream->name);
    free(stream->after);
    if (stream->parts)
        gw_parts_unref(stream->parts);
    free(stream);
}

/* -- Opening -------------------------------------------------------------------------------------
 */

static int copy_options(struct gw_stream *stream, const struct gw_submit_options *options)
{
    stream->name = strdup(options->name ? options->name : "stream");
    stream->after = malloc((options->after_count + 1) * sizeof *stream->after);
    if (!stream->name || !stream->after)
        return GW_ENOMEM;
    if (options->after_count)
        memcpy(stream->after, options->after, options->after_count * sizeof *stream->after);
    return 0;
}

int gw_stream_open(struct gw_client *client, const struct gw_submit_options *given,
                   struct gw_stream **out, struct gw_error *error)
{
    struct gw_submit_options read;
    const struct gw_submit_options *options = &read;
    int rc = GW_OPTIONS_READ(&read, given, gw_submit_options, error);
    if (rc < 0)
        return rc;
    if (options->detached)
        return gw_error_set(error, GW_ENOTSUP,
                            "a stream of tasks cannot be detached, because it ends with its "
                            "client: submit the tasks as a graph (gw_client_submit)");
    struct gw_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    stream->client = client;
    stream->parts = gw_parts_new(client);
    rc = stream->parts ? copy_options(stream, options) : GW_ENOMEM;
    const struct gw_submission_options opened = {
        .name = stream->name,
        .no_futures = true,
        .after = {stream->after, options->after_count, options->after_any},
    };
    if (rc == 0 && !client->inlined) {
        rc = gw_submission_open(&stream->submission, client, &opened, error);
        stream->submission.flags |= GW_SUBMIT_STREAM;
        stream->submission.call.on_answer = stream_on_answer;
        stream->submission.call.arg = stream;
        if (rc == 0)
            rc = gw_parts_register(stream->parts, stream->submission.call.request);
        if (rc < 0)
            gw_submission_close(&stream->submission);
    }
    if (rc < 0) {
        stream_free(stream);
        return gw_error_set(error, rc, "%s", gw_error_text(rc));
    }
    *out = stream;
    return 0;
}

uint64_t gw_stream_job(const struct gw_stream *stream)
{
    pthread_mutex_lock(&stream->client->lock);
    uint64_t job = stream->parts->job;
    pthread_mutex_unlock(&stream->client->lock);
    return job;
}

uint32_t gw_stream_count(const struct gw_stream *stream)
{
    return stream->rows;
}

/* -- Adding graphs ------------------------------------------------------------------------------
 */

/* Finds the number of a spec in the stream's job. A new spec gets the next number and is sent. */
static int number_of(struct gw_stream *stream, const struct gw_graph_spec *spec, uint32_t *number,
                     struct gw_error *error)
{
    uint64_t hash = gw_spec_hash(spec), known;
    if (gw_map_get(&stream->spec_by_hash, hash, &known) &&
        gw_spec_equal(spec, &stream->specs.items[known])) {
        *number = (uint32_t)known;
        return 0;
    }
    struct gw_graph_spec copy;
    *number = (uint32_t)stream->specs.count;
    if (gw_spec_copy(&stream->arena, spec, &copy) < 0 || gw_array_push(&stream->specs, copy) < 0 ||
        gw_map_put(&stream->spec_by_hash, hash, *number) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    int rc = gw_submission_spec(&stream->submission, *number, spec, error);
    if (rc == 0 && *number == 0)
        rc = gw_submission_after(&stream->submission, error);
    return rc;
}

/* Arrays of a graph ("columns") that change because the graph's tasks come after earlier tasks of
 * the stream. */
struct moved {
    uint32_t *spec; /* new number of each spec of the graph */
    uint64_t *dep_job;
    uint32_t *dep_row;
};

static void moved_deinit(struct moved *moved)
{
    free(moved->spec);
    free(moved->dep_job);
    free(moved->dep_row);
}

static int moved_init(struct moved *moved, struct gw_stream *stream,
                      const struct gw_graph_rows *rows, struct gw_error *error)
{
    size_t edges = rows->deps_at[rows->count];
    *moved = (struct moved){malloc((rows->spec_count + 1) * sizeof *moved->spec),
                            malloc((edges + 1) * sizeof *moved->dep_job),
                            malloc((edges + 1) * sizeof *moved->dep_row)};
    if (!moved->spec || !moved->dep_job || !moved->dep_row)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    uint64_t own = gw_stream_job(stream);
    for (size_t e = 0; e < edges; e++) {
        uint64_t job = rows->dep_job[e];
        moved->dep_row[e] = job ? rows->dep_row[e] : stream->rows + rows->dep_row[e];
        moved->dep_job[e] = job == own ? 0 : job;
    }
    int rc = 0;
    for (uint32_t i = 0; i < rows->spec_count && rc == 0; i++)
        rc = number_of(stream, &rows->specs[i], &moved->spec[i], error);
    return rc;
}

static int send_rows(struct gw_stream *stream, const struct gw_graph_rows *rows,
                     const struct gw_targets *targets, const struct moved *moved,
                     struct gw_error *error)
{
    uint32_t next = 0;
    int rc = 0;
    for (uint32_t i = 0; i < rows->count && rc == 0; i++) {
        uint32_t first = rows->deps_at[i];
        const struct gw_chunk_row row = {
            .row = stream->rows + i,
            .spec = moved->spec[rows->spec[i]],
            .args = rows->args + rows->args_at[i],
            .args_bytes = rows->args_at[i + 1] - rows->args_at[i],
            .dep_job = moved->dep_job + first,
            .dep_index = moved->dep_row + first,
            .dep_rank = rows->dep_rank + first,
            .dep_count = rows->deps_at[i + 1] - first,
            .name = rows->names[i],
            .target = next < targets->count && targets->rows[next] == i,
            .whole = rows->specs[rows->spec[i]].kind == GW_SPEC_COMMAND,
        };
        while (next < targets->count && targets->rows[next] == i)
            next++;
        rc = gw_submission_row(&stream->submission, &row, error);
    }
    return rc < 0 ? rc : gw_submission_part(&stream->submission, error);
}

/* Makes the group of futures of a graph and registers it. This happens before the rows are sent,
 * because a result may arrive before the last row has left. */
static struct gw_future_group *add_part(struct gw_stream *stream, const struct gw_graph_rows *rows,
                                        const struct gw_targets *targets)
{
    struct gw_client *client = stream->client;
    uint32_t *at = malloc((targets->count + 1) * sizeof *at);
    for (uint32_t i = 0; at && i < targets->count; i++)
        at[i] = stream->rows + targets->rows[i];
    pthread_mutex_lock(&client->lock);
    uint64_t request = ++client->last_request;
    pthread_mutex_unlock(&client->lock);
    struct gw_future_group *group =
        at ? gw_future_group_new(client, request, at, targets->count) : NULL;
    free(at);
    if (!group)
        return NULL;
    for (uint32_t i = 0; i < targets->count; i++)
        group->futures[i].ranks = rows->specs[rows->spec[targets->rows[i]]].options.ranks;
    pthread_mutex_lock(&client->lock);
    bool added = gw_parts_add(stream->parts, group->rows[0], group) == 0;
    if (added) {
        group->parts = stream->parts;
        group->job = stream->parts->job;
    }
    pthread_mutex_unlock(&client->lock);
    if (added)
        return group;
    gw_future_group_drop(group);
    return NULL;
}

/* Blocks until the scheduler has opened the job or refused it. */
static int await_opened(struct gw_stream *stream, struct gw_future_group *group,
                        struct gw_error *error)
{
    struct gw_client *client = stream->client;
    pthread_mutex_lock(&client->lock);
    gw_reader_handoff_suspend(&client->turn);
    while (!stream->parts->job && !stream->answered)
        pthread_cond_wait(&client->answered, &client->lock);
    gw_reader_handoff_resume(&client->turn);
    if (group)
        group->job = stream->parts->job;
    bool opened = stream->parts->job != 0;
    pthread_mutex_unlock(&client->lock);
    return opened ? 0 : gw_submission_refused(&stream->submission, error);
}

static int add_rows(struct gw_stream *stream, const struct gw_graph_rows *rows,
                    const struct gw_targets *targets, struct gw_future_group **out,
                    struct gw_error *error)
{
    struct gw_future_group *group = NULL;
    struct moved moved;
    int rc = gw_submission_refused(&stream->submission, error);
    if (rc < 0)
        return rc;
    if (targets->count > 0 && !(group = add_part(stream, rows, targets)))
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    rc = moved_init(&moved, stream, rows, error);
    if (rc == 0)
        rc = send_rows(stream, rows, targets, &moved, error);
    moved_deinit(&moved);
    if (rc == 0)
        rc = await_opened(stream, group, error);
    if (rc == 0)
        *out = group;
    else if (group)
        gw_future_group_drop(group);
    stream->rows += rows->count;
    return rc;
}

static int add_inline(struct gw_stream *stream, const struct gw_graph_rows *rows,
                      const struct gw_targets *targets, struct gw_future_group **group,
                      struct gw_error *error)
{
    int rc = gw_inline_submit(stream->client, rows, targets->rows, targets->count, group, error);
    if (rc == 0 && targets->count == 0)
        gw_future_group_drop(*group);
    stream->rows += rows->count;
    return rc;
}

int gw_stream_add(struct gw_stream *stream, struct gw_graph *graph, const gw_node *nodes,
                  size_t count, struct gw_future **futures, struct gw_error *error)
{
    struct gw_graph_rows rows;
    struct gw_targets targets = {0};
    struct gw_future_group *group = NULL;
    bool inlined = stream->client->inlined;
    if (stream->error.code < 0)
        return gw_error_set(error, stream->error.code, "%s", stream->error.text);
    int rc = gw_graph_rows_seal(graph, &rows, error);
    if (rc == 0 && rows.count == 0)
        rc = gw_error_set(error, GW_EINVAL, "the graph has no task");
    if (rc == 0)
        rc = gw_targets_init(&targets, &rows, nodes, count, error);
    if (rc == 0)
        rc = gw_submission_prepare(stream->client, rows.specs, rows.spec_count, error);
    if (rc == 0) {
        rc = inlined ? add_inline(stream, &rows, &targets, &group, &stream->error)
                     : add_rows(stream, &rows, &targets, &group, &stream->error);
        if (rc < 0 && error)
            *error = stream->error;
    }
    for (uint32_t i = 0; i < count && rc == 0; i++)
        futures[targets.items[i].at] = &group->futures[i];
    gw_targets_deinit(&targets);
    return rc;
}

static void remember(struct gw_stream *stream)
{
    struct gw_client *client = stream->client;
    pthread_mutex_lock(&client->lock);
    client->closed_streams[client->closed_count++ % STREAMS] = stream->parts->job;
    pthread_mutex_unlock(&client->lock);
}

void gw_stream_warn(struct gw_client *client)
{
    const uint32_t count = client->closed_count < STREAMS ? client->closed_count : STREAMS;
    for (uint32_t i = 0; i < count; i++) {
        int exit_code;
        if (gw_job_wait(client, client->closed_streams[i], 0, &exit_code, NULL) == GW_ETIMEDOUT)
            gw_log_plain(GW_LOG_WARN, "warning: ",
                         "gw_client_close cancels unfinished tasks of the stream (job %llu): wait "
                         "for its futures, or call gw_job_wait, before you close the client",
                         (unsigned long long)client->closed_streams[i]);
    }
}

int gw_stream_close(struct gw_stream *stream, struct gw_error *error)
{
    int rc = 0;
    if (!stream)
        return 0;
    if (!stream->client->inlined) {
        if (stream->specs.count > 0)
            rc = gw_submission_finish(&stream->submission, error);
        if (stream->parts->job)
            remember(stream);
        gw_submission_close(&stream->submission);
    }
    if (stream->error.code < 0)
        rc = gw_error_set(error, stream->error.code, "%s", stream->error.text);
    stream_free(stream);
    return rc;
}
