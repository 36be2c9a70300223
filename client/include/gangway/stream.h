/* Streams: a job that is submitted graph by graph, while what came before runs already.
 *
 *     gw_stream_open(client, NULL, &stream, &error);
 *     for (...) {
 *         struct gw_graph *graph = gw_graph_new();
 *         gw_node node = gw_call(graph, next, NULL, gw_ref_future(graph, before), ...);
 *         rc = gw_stream_add(stream, graph, &node, 1, &after, &error);
 *         gw_graph_free(graph);
 *         gw_future_release(before);
 *     }
 *     rc = gw_stream_close(stream, &error);
 *
 * So a graph may be larger than what one wants in memory: of a graph that was added only its
 * futures are left here. Tasks of later graphs take results of earlier ones by gw_ref_future; what
 * no future and no task of its own graph holds is let go. */
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

/* gw_stream_open begins a stream; nothing is sent yet. options may be NULL; a stream cannot be
 * detached (GW_ENOTSUP). A stream is used by one thread at a time. */
GW_API int gw_stream_open(struct gw_client *client, const struct gw_submit_options *options,
                          struct gw_stream **stream, struct gw_error *error);

/* gw_stream_add sends the tasks of a graph (borrowed; may be freed after) and gives futures for
 * `count` of its nodes; its tasks may start before this returns. Blocks while more than 4 MiB wait
 * to be sent, and, the first time, until the scheduler has opened the job. What a later graph is to
 * take needs a future here, and that future held until then. Errors as of gw_client_submit_many;
 * a graph that is not well formed is not sent, and the stream goes on; what the scheduler refuses
 * ends it: all of its tasks are cancelled, its futures fail, and every later call gives the same
 * error. */
GW_API int gw_stream_add(struct gw_stream *stream, struct gw_graph *graph, const gw_node *nodes,
                         size_t count, struct gw_future **futures, struct gw_error *error);

/* gw_stream_job is the job's number, 0 before the first graph; gw_stream_count the number of tasks
 * that were added. */
GW_API uint64_t gw_stream_job(const struct gw_stream *stream);
GW_API uint32_t gw_stream_count(const struct gw_stream *stream);

/* gw_stream_close says that no more comes, blocks until the scheduler has accepted all of it (not
 * until it has run), and frees the stream also when it fails; accepts NULL. Futures stay. */
GW_API int gw_stream_close(struct gw_stream *stream, struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
