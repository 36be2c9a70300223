/* replay GRAPH [--repeats N] [--workers N] [--slots N] [--kill]: runs a graph of graphs.py on a
 * private cluster. Prints one line of JSON per run: the seconds from before the graph is built
 * until the right value of every sink has arrived. --kill: a runner is killed in each run, directly
 * after the graph was submitted. Before the first run, warm-up tasks run on as many runners as
 * there are slots (at most two); otherwise the program fails.
 *
 * replay --commands N [...]: runs N commands `true` instead, as one bag.
 *
 * A row computes `combine` of graphs.py: the value of a sink is right only if all rows before it
 * were right. */
#include "tests/bench/peers/graph_file.h"

#include <gangway/gangway.h>

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS_MAX = 100 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* -- The tasks -----------------------------------------------------------------------------------
 */

static int take(struct gw_task *task, uint32_t i, uint64_t *sum)
{
    const void *data;
    size_t bytes;
    uint64_t value;
    int rc = gw_task_arg_bytes(task, i, &data, &bytes);
    if (rc < 0)
        return rc;
    if (bytes < sizeof value)
        return gw_task_fail(task, GW_EINVAL, "an input of %zu bytes", bytes);
    memcpy(&value, data, sizeof value);
    *sum += value;
    return 0;
}

/* Arguments: index, nanoseconds, bytes, then its dependencies. */
static int row(struct gw_task *task)
{
    uint64_t begin_ns = now_ns(), sum = 0;
    int64_t index, duration_ns, size;
    if (gw_task_arg_i64(task, 0, &index) < 0 || gw_task_arg_i64(task, 1, &duration_ns) < 0 ||
        gw_task_arg_i64(task, 2, &size) < 0)
        return GW_EINVAL;
    for (uint32_t i = 3; i < gw_task_arg_count(task); i++)
        if (take(task, i, &sum) < 0)
            return GW_EINVAL;
    uint64_t value = graph_file_combine((uint64_t)index, sum);
    while (now_ns() - begin_ns < (uint64_t)duration_ns) /* busy loop instead of a computation */
        ;
    if (size <= (int64_t)sizeof value)
        return gw_task_return(task, gw_bytes(&value, sizeof value));
    uint8_t *data = calloc(1, (size_t)size);
    if (!data)
        return gw_task_fail(task, GW_ENOMEM, "out of memory");
    memcpy(data, &value, sizeof value);
    int rc = gw_task_return(task, gw_bytes(data, (size_t)size));
    free(data);
    return rc;
}
GW_TASK(row);

/* Returns the process that runs the task. It takes a while, so that other processes run some tasks,
 * too. */
static int pid(struct gw_task *task)
{
    uint64_t begin_ns = now_ns();
    while (now_ns() - begin_ns < 1000000)
        ;
    return gw_task_return(task, gw_i64(getpid()));
}
GW_TASK(pid);

/* -- Runs ----------------------------------------------------------------------------------------
 */

static gw_node add_row(struct gw_graph *graph, const struct graph_file *rows, const gw_node *nodes,
                       uint32_t i, struct gw_value **values)
{
    size_t count = 0;
    values[count++] = gw_i64(i);
    values[count++] = gw_i64(rows->duration_ns[i]);
    values[count++] = gw_i64(rows->size[i]);
    for (uint32_t k = rows->deps_at[i]; k < rows->deps_at[i + 1]; k++)
        values[count++] = gw_result(nodes[rows->deps[k]]);
    return gw_graph_call(graph, GW_FUNCTION(row), NULL, values, count);
}

static void check_sink(const struct graph_file *rows, uint32_t index, const struct gw_value *value)
{
    struct gw_error error;
    const void *data;
    size_t bytes;
    uint64_t number = 0;
    if (gw_value_get_bytes(value, &data, &bytes, &error) < 0)
        gw_error_exit(&error);
    if (bytes >= sizeof number)
        memcpy(&number, data, sizeof number);
    if (bytes != (rows->size[index] > 8 ? rows->size[index] : 8) ||
        number != rows->expected[index]) {
        fprintf(stderr, "replay: the value of row %" PRIu32 " is wrong\n", index);
        exit(1);
    }
}

/* Finds two processes that run tasks, or one twice. */
static void find_runners(struct gw_client *client, pid_t pids[2])
{
    enum { TASKS = 64 };
    struct gw_error error;
    gw_node nodes[TASKS];
    struct gw_future *futures[TASKS];
    struct gw_value *values[TASKS];
    struct gw_graph *graph = gw_graph_new();
    for (int i = 0; i < TASKS; i++)
        nodes[i] = gw_call(graph, pid, NULL);
    if (gw_client_submit_many(client, graph, NULL, nodes, TASKS, futures, &error) < 0 ||
        gw_gather(client, futures, TASKS, values, &error) < 0)
        gw_error_exit(&error);
    for (int i = 0; i < TASKS; i++) {
        int64_t number;
        if (gw_value_get_i64(values[i], &number, &error) < 0)
            gw_error_exit(&error);
        pids[0] = i ? pids[0] : (pid_t)number;
        pids[1] = i && pids[1] != pids[0] ? pids[1] : (pid_t)number;
        gw_value_unref(values[i]);
        gw_future_release(futures[i]);
    }
    gw_graph_free(graph);
}

/* victim: process to kill after the submission; 0: none */
static double run_graph(struct gw_client *client, const struct graph_file *rows, pid_t victim)
{
    struct gw_error error;
    uint64_t begin_ns = now_ns();
    gw_node *nodes = calloc(rows->count, sizeof *nodes);
    gw_node *sinks = calloc(rows->sinks, sizeof *sinks);
    uint32_t *sink_rows = calloc(rows->sinks, sizeof *sink_rows);
    struct gw_future **futures = calloc(rows->sinks, sizeof *futures);
    struct gw_value **results = calloc(rows->sinks, sizeof *results);
    struct gw_value **values = calloc((size_t)rows->edges + 3, sizeof *values);
    if (!nodes || !sinks || !sink_rows || !futures || !results || !values)
        exit(1);
    struct gw_graph *graph = gw_graph_new();
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        nodes[i] = add_row(graph, rows, nodes, i, values);
        if (rows->sink[i]) {
            sink_rows[count] = i;
            sinks[count++] = nodes[i];
        }
    }
    if (gw_client_submit_many(client, graph, NULL, sinks, count, futures, &error) < 0)
        gw_error_exit(&error);
    if (victim && kill(victim, SIGKILL) < 0) {
        perror("replay: kill");
        exit(1);
    }
    if (gw_gather(client, futures, count, results, &error) < 0)
        gw_error_exit(&error);
    for (uint32_t i = 0; i < count; i++) {
        check_sink(rows, sink_rows[i], results[i]);
        gw_value_unref(results[i]);
        gw_future_release(futures[i]);
    }
    uint64_t end_ns = now_ns();
    gw_graph_free(graph);
    free(nodes);
    free(sinks);
    free(sink_rows);
    free(futures);
    free(results);
    free(values);
    return (double)(end_ns - begin_ns) / 1e9;
}

static double run_commands(struct gw_client *client, uint32_t count)
{
    struct gw_error error;
    uint64_t begin_ns = now_ns();
    gw_node *nodes = calloc(count, sizeof *nodes);
    struct gw_future **futures = calloc(count, sizeof *futures);
    struct gw_value **results = calloc(count, sizeof *results);
    struct gw_graph *graph = gw_graph_new();
    if (!nodes || !futures || !results)
        exit(1);
    for (uint32_t i = 0; i < count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%" PRIu32, i);
        const char *const argv[] = {"true", number, NULL};
        nodes[i] = gw_graph_command(graph, GW_COMMAND(.argv = argv), NULL);
    }
    if (gw_client_submit_many(client, graph, NULL, nodes, count, futures, &error) < 0 ||
        gw_gather(client, futures, count, results, &error) < 0)
        gw_error_exit(&error);
    uint64_t end_ns = now_ns();
    for (uint32_t i = 0; i < count; i++) {
        gw_value_unref(results[i]);
        gw_future_release(futures[i]);
    }
    gw_graph_free(graph);
    free(nodes);
    free(futures);
    free(results);
    return (double)(end_ns - begin_ns) / 1e9;
}

/* Runs some tasks so that the runners have started before the measurement. */
static void warm_up(struct gw_client *client)
{
    static uint32_t zeros[65], sizes[64];
    static uint64_t expected[64];
    static bool sink[64];
    struct graph_file graph = {.count = 64,
                               .deps_at = zeros,
                               .deps = zeros,
                               .duration_ns = zeros,
                               .size = sizes,
                               .expected = expected,
                               .sink = sink,
                               .sinks = 64};
    for (uint32_t i = 0; i < 64; i++) {
        expected[i] = graph_file_combine(i, 0);
        sink[i] = true;
    }
    run_graph(client, &graph, 0);
}

static int usage(void)
{
    fprintf(stderr, "usage: replay GRAPH | --commands N  [--repeats N] [--workers N] [--slots N] "
                    "[--kill]\n"
                    "GRAPH is a file that compare.py or graphs.py wrote.\n");
    return 2;
}

static long parse_number(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    return *end || number > 100000000 ? -1 : number;
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    static const struct option table[] = {{"commands", 1, NULL, 'c'}, {"repeats", 1, NULL, 'r'},
                                          {"workers", 1, NULL, 'w'},  {"slots", 1, NULL, 's'},
                                          {"kill", 0, NULL, 'k'},     {NULL, 0, NULL, 0}};
    struct gw_client_options options =
        GW_INIT(gw_client_options, .private_cluster = true, .slots = 2);
    struct graph_file graph = {0};
    struct gw_client *client;
    struct gw_error error;
    long commands = 0, repeats = 1;
    bool kills = false;
    for (int option; (option = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        long number;
        if (option == 'k') {
            kills = true;
            continue;
        }
        if (option == '?' || (number = parse_number(optarg)) < 1)
            return usage();
        commands = option == 'c' ? number : commands;
        repeats = option == 'r' ? number : repeats;
        options.workers = option == 'w' ? (uint32_t)number : options.workers;
        options.slots = option == 's' ? (uint32_t)number : options.slots;
    }
    if ((commands == 0) == (optind == argc) || optind + 1 < argc)
        return usage();
    if (!commands && graph_file_read(argv[optind], &graph) < 0) {
        graph_file_deinit(&graph);
        return 2;
    }
    if (gw_client_open(&options, &client, &error) < 0)
        gw_error_exit(&error);
    warm_up(client);
    pid_t runners[2];
    int looks = 0;
    do /* if the machine is busy, one runner may run all of these tasks */
        find_runners(client, runners);
    while (runners[0] == runners[1] && options.slots > 1 && ++looks < LOOKS_MAX);
    if (runners[0] == runners[1] && options.slots > 1) {
        fprintf(stderr, "replay: one runner ran all tasks, of %" PRIu32 " slots\n", options.slots);
        return 1;
    }
    for (long i = 0; i < repeats; i++) {
        if (kills)
            find_runners(client, runners);
        pid_t victim = kills ? runners[0] : 0;
        double seconds =
            commands ? run_commands(client, (uint32_t)commands) : run_graph(client, &graph, victim);
        printf("{\"seconds\": %.6f, \"tasks\": %lu, \"killed\": %d}\n", seconds,
               commands ? (unsigned long)commands : (unsigned long)graph.count,
               commands ? 0 : (int)victim);
        fflush(stdout);
    }
    gw_client_close(client);
    graph_file_deinit(&graph);
    return 0;
}
