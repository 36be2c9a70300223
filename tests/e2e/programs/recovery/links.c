/* `links FILE CHAINS LENGTH MS [command]`: one detached job of chains of tasks, functions or
 * commands; each task starts after its predecessor, appends "CHAIN LINK" to FILE and takes MS ms.
 * None may run twice if a worker is lost. Prints the number of the job. */
#include "tests/e2e/programs/append.h"
#include "tests/e2e/programs/check.h"

#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int append_link(struct gw_task *task)
{
    const char *path;
    int64_t chain, link, pause_ms;
    if (gw_task_arg_str(task, 0, &path) < 0 || gw_task_arg_i64(task, 1, &chain) < 0 ||
        gw_task_arg_i64(task, 2, &link) < 0 || gw_task_arg_i64(task, 3, &pause_ms) < 0)
        return GW_EINVAL;
    int rc = append(task, path, "%lld %lld\n", (long long)chain, (long long)link);
    if (rc < 0)
        return rc;
    struct timespec now, begun;
    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    do /* its work */
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 < pause_ms);
    return 0;
}
GW_TASK(append_link);

static gw_node add_command(struct gw_graph *graph, const char *path, int chain, int link,
                           int64_t pause_ms)
{
    char script[512];
    (void)snprintf(script, sizeof script, "echo %d %d >> %s; sleep %g", chain, link, path,
                   (double)pause_ms / 1000);
    const char *const argv[] = {"sh", "-c", script, NULL};
    const struct gw_command command = GW_INIT(gw_command, .argv = argv);
    return gw_graph_command(graph, &command, GW_OPTIONS(.worker_losses_max = UINT32_MAX));
}

int main(int argc, char **argv)
{
    struct gw_client *client;
    gw_init(&argc, &argv);
    if (argc < 5)
        return 2;
    const int chains = atoi(argv[2]), length = atoi(argv[3]);
    const int64_t pause_ms = atoi(argv[4]);
    const struct gw_submit_options options =
        GW_INIT(gw_submit_options, .name = "links", .detached = true);
    struct gw_graph *graph = gw_graph_new();
    gw_node *last = calloc((size_t)chains, sizeof *last);
    CHECK(last && gw_client_open(NULL, &client, &error) == 0);
    for (int chain = 0; chain < chains; chain++)
        for (int link = 0; link < length; link++) {
            gw_node node =
                argc > 5 ? add_command(graph, argv[1], chain, link, pause_ms)
                         : gw_call(graph, append_link, GW_OPTIONS(.worker_losses_max = UINT32_MAX),
                                   gw_str(argv[1]), gw_i64(chain), gw_i64(link), gw_i64(pause_ms));
            if (link > 0)
                gw_graph_after(graph, node, last[chain]);
            last[chain] = node;
        }
    struct gw_future **futures = calloc((size_t)chains, sizeof *futures);
    CHECK(futures && gw_client_submit_many(client, graph, &options, last, (size_t)chains, futures,
                                           &error) == 0);
    printf("%llu\n", (unsigned long long)gw_future_job(futures[0]));
    (void)fflush(stdout);
    for (int chain = 0; chain < chains; chain++)
        gw_future_release(futures[chain]);
    free(futures);
    free(last);
    gw_graph_free(graph);
    gw_client_close(client);
    return 0;
}
