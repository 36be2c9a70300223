/* Commands: runs `true` as tasks, and alternately starts and awaits it without Gangway on the same
 * number of cores. */
#include "client/cli/bench/bench.h"
#include "graph/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { COUNT_MAX = 500, TURNS = 21, CORES = 2 };

static const char *const command_argv[] = {"/bin/true", NULL};

static int tasks(struct gw_bench *bench, struct gw_client *client, size_t count, double *rate)
{
    gw_node nodes[COUNT_MAX];
    struct gw_future *futures[COUNT_MAX];
    const struct gw_command command = GW_INIT(gw_command, .argv = command_argv);
    struct gw_graph *graph = gw_graph_new();
    uint64_t begin_ns = gw_clock_now_ns();
    for (size_t i = 0; i < count; i++)
        nodes[i] = gw_graph_command(graph, &command, NULL);
    int rc = gw_client_submit_many(client, graph, NULL, nodes, count, futures, &bench->error);
    gw_graph_free(graph);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        int64_t exit_code = 0;
        if (rc == 0)
            rc = gw_bench_get_i64(bench, futures[i], &exit_code);
        if (rc == 0 && exit_code != 0)
            rc = gw_bench_wrong(bench, i);
    }
    *rate = (double)count / gw_bench_seconds_since(begin_ns);
    for (size_t i = 0; i < count; i++)
        gw_future_release(futures[i]);
    return rc;
}

struct spawner {
    pthread_t thread;
    size_t count;
    int failed; /* errno */
};

static void *spawn_main(void *arg)
{
    struct spawner *spawner = arg;
    for (size_t i = 0; i < spawner->count && !spawner->failed; i++) {
        pid_t pid;
        int status = 0;
        spawner->failed = posix_spawn(&pid, command_argv[0], NULL, NULL,
                                      (char *const *)(uintptr_t)command_argv, environ);
        if (!spawner->failed && (waitpid(pid, &status, 0) != pid || status != 0))
            spawner->failed = ECHILD;
    }
    return NULL;
}

static int by_hand(struct gw_bench *bench, size_t count, double *rate)
{
    struct spawner spawners[CORES] = {{0}};
    uint64_t begin_ns = gw_clock_now_ns();
    int started = 0, failed = 0;
    for (; started < CORES && !failed; started++) {
        spawners[started].count = count / CORES;
        failed = pthread_create(&spawners[started].thread, NULL, spawn_main, &spawners[started]);
    }
    started -= failed != 0;
    for (int i = 0; i < started; i++) {
        pthread_join(spawners[i].thread, NULL);
        failed = failed ? failed : spawners[i].failed;
    }
    *rate = (double)(count / CORES * CORES) / gw_bench_seconds_since(begin_ns);
    return failed ? gw_error_set(&bench->error, GW_EIO, "%s: %s", command_argv[0], strerror(failed))
                  : 0;
}

int gw_bench_commands(struct gw_bench *bench, double *figures)
{
    double rates[TURNS], ratios[TURNS], bare;
    size_t turns = bench->quick ? 1 : TURNS, count = bench->quick ? 50 : COUNT_MAX;
    struct gw_client *client;
    int rc = gw_bench_open(bench, CORES, 1, &client);
    if (rc < 0)
        return rc;
    rc = tasks(bench, client, 10, &bare); /* warm-up */
    for (size_t i = 0; i < turns && rc == 0; i++) {
        rc = tasks(bench, client, count, &rates[i]);
        if (rc == 0)
            rc = by_hand(bench, count, &bare);
        ratios[i] = rates[i] / bare;
    }
    if (rc == 0) {
        figures[0] = gw_bench_median(rates, turns);
        figures[1] = gw_bench_median(ratios, turns);
    }
    gw_client_close(client);
    return rc;
}
