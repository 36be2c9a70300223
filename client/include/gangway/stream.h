/* Streams: a job that is submitted graph by graph, while its earlier graphs already run.
 *
 *     gw_stream_open(client, NULL, &stream, &error);
 *     for (...) {
 *         struct gw_graph *graph = gw_graph_new();
 *         gw_node node = gw_call(graph, next, NULL, gw_result_future(graph, before), ...);
 *         rc = gw_stream_add(stream, graph, &node, 1, &after, &error);
 *         gw_graph_free(graph);
 *         gw_future_release(before);
 *     }
 *     rc = gw_stream_close(stream, &error);
 *
 * The whole job may be larger than this process's memory: after a graph was added, only its futures
 * stay in memory. Tasks of later graphs take results of earlier graphs by gw_result_future. A
 * result is freed when no future holds it and no task of its own graph needs it. */
#ifndef GANGWAY_STREAM_H
#define GANGWAY_STREAM_H

#include <gangway/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_future;
struct gw_submit_options;
struct gw_stream;

/* gw_stream_open begins a stream. It does not contact the scheduler yet. options may be NULL. A
 * stream cannot be detached (GW_ENOTSUP). Only one thread at a time may use a stream. */
GW_API int gw_stream_open(struct gw_client *client, const struct gw_submit_options *options,
                          struct gw_stream **stream, struct gw_error *error);

/* gw_stream_add sends the tasks of a graph (borrowed; may be freed afterwards) and returns futures
 * for `count` of its nodes. The tasks may start before gw_stream_add returns. It blocks while more
 * than 4 MiB wait to be sent. The first call also blocks until the scheduler has opened the job. If
 * a later graph shall take a result, ask for its future here, and keep the future until that graph
 * was added. Errors: as gw_client_submit_many. A malformed graph is not sent, and the stream goes
 * on. If the scheduler refuses a graph, the stream ends: all its tasks are cancelled, its futures
 * fail, and every later call returns the same error. */
GW_API int gw_stream_add(struct gw_stream *stream, struct gw_graph *graph, const gw_node *nodes,
                         size_t count, struct gw_future **futures, struct gw_error *error);

/* gw_stream_job returns the job's number, or 0 before the first graph. gw_stream_count returns the
 * number of tasks that were added. */
GW_API uint64_t gw_stream_job(const struct gw_stream *stream);
GW_API uint32_t gw_stream_count(const struct gw_stream *stream);

/* gw_stream_close ends the stream. It blocks until the scheduler has accepted all graphs, not until
 * their tasks have ended: wait for them (gw_future_get, or gw_job_wait with gw_stream_job) before
 * gw_client_close, which cancels unfinished tasks and logs a warning (log.h). gw_stream_close frees
 * the stream, even if it fails, and accepts NULL. The futures stay valid. */
GW_API int gw_stream_close(struct gw_stream *stream, struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
