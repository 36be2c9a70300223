/* Many detached jobs, one after the other. `queued COUNT [BYTES]`: COUNT jobs of one command,
 * called "queued", each with an annotation of BYTES bytes; prints "ok". Eight threads submit, so
 * that many jobs are committed together. */
#include "tests/e2e/programs/check.h"

#include <gangway/gangway.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8 };

static struct gw_client *client;
static char annotation[4200];

static void submit_one(void)
{
    static const char *const argv[] = {"true", NULL};
    const struct gw_command command = GW_INIT(gw_command, .argv = argv);
    const struct gw_task_options options =
        GW_INIT(gw_task_options, .annotations = *annotation ? annotation : NULL);
    const struct gw_submit_options how =
        GW_INIT(gw_submit_options, .name = "queued", .detached = true);
    struct gw_future *future;
    struct gw_error why;
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_graph_command(graph, &command, &options);
    if (gw_client_submit_many(client, graph, &how, &node, 1, &future, &why) < 0)
        gw_error_exit(&why);
    gw_future_release(future);
    gw_graph_free(graph);
}

static void *submit_some(void *arg)
{
    for (size_t i = 0; i < *(const size_t *)arg; i++)
        submit_one();
    return NULL;
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    pthread_t threads[THREADS];
    size_t counts[THREADS];
    const size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    const size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    CHECK(count > 0 && bytes + 8 < sizeof annotation);
    if (bytes) {
        memcpy(annotation, "note=", 5);
        memset(annotation + 5, 'x', bytes);
    }
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    for (size_t i = 0; i < THREADS; i++) {
        counts[i] = count / THREADS + (i < count % THREADS);
        CHECK(pthread_create(&threads[i], NULL, submit_some, &counts[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    gw_client_close(client);
    puts("ok");
    return 0;
}
