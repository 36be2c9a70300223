/* `gangway bench` measures this build on private clusters of its own. Every result is fetched and
 * checked: a figure of wrong results would be none. */
#include "client/cli/bench_tasks.h"
#include "client/cli/cli.h"
#include "client/cli/options.h"
#include "graph/base/clock.h"

#include <stdlib.h>

struct bench {
    bool quick;
    struct gw_client *client; /* of two slots */
    struct gw_client *wide;   /* of four */
    struct gw_error error;
};

static double seconds_since(uint64_t begin_ns)
{
    return (double)(gw_clock_now_ns() - begin_ns) / 1e9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *items, size_t count)
{
    qsort(items, count, sizeof *items, by_size);
    return items[count / 2];
}

static int wrong(struct bench *bench, size_t i)
{
    return gw_error_set(&bench->error, GW_ECORRUPT, "task %zu gave a wrong result", i);
}

/* -- No-op tasks ---------------------------------------------------------------------------------
 */

static int number(size_t i, struct gw_value **args, void *arg)
{
    args[0] = gw_i64((int64_t)i);
    return 0;
}

static int check_number(struct bench *bench, struct gw_future *future, size_t i)
{
    struct gw_value *value;
    int64_t result;
    int rc = gw_future_get(future, 0, &value, &bench->error);
    if (rc < 0)
        return rc;
    rc = gw_value_get_i64(value, &result, &bench->error);
    gw_value_unref(value);
    return rc < 0 || result != gw_bench_expected((int64_t)i) ? wrong(bench, i) : 0;
}

static int bag(struct bench *bench, size_t count, double *seconds)
{
    struct gw_future **futures = calloc(count, sizeof(struct gw_future *));
    const struct gw_map_call call = {
        .function = &gw_function_bench_noop, .count = count, .arg_count = 1, .make_args = number};
    if (!futures)
        return gw_error_set(&bench->error, GW_ENOMEM, "out of memory");
    uint64_t begin_ns = gw_clock_now_ns();
    int rc = gw_map(bench->client, &call, futures, &bench->error);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = check_number(bench, futures[i], i);
    *seconds = seconds_since(begin_ns);
    for (size_t i = 0; i < count; i++)
        gw_future_release(futures[i]);
    free(futures);
    return rc;
}

static int noop_tasks(struct bench *bench, double *figure)
{
    size_t count = bench->quick ? 10000 : 1000000;
    double seconds = 0;
    int rc = bag(bench, 1000, &seconds); /* runners start, the program is there */
    if (rc == 0)
        rc = bag(bench, count, &seconds);
    *figure = rc == 0 ? (double)count / seconds : 0;
    return rc;
}

static int latency(struct bench *bench, double *figure)
{
    enum { ROUNDS_MAX = 2000 };
    static double times[ROUNDS_MAX];
    size_t rounds = bench->quick ? 50 : ROUNDS_MAX;
    for (size_t i = 0; i < rounds; i++) {
        struct gw_future *future;
        uint64_t begin_ns = gw_clock_now_ns();
        int rc =
            gw_submit(bench->client, &future, &bench->error, bench_noop, NULL, gw_i64((int64_t)i));
        if (rc == 0) {
            rc = check_number(bench, future, i);
            times[i] = seconds_since(begin_ns) * 1e6;
            gw_future_release(future);
        }
        if (rc < 0)
            return rc;
    }
    *figure = median(times, rounds);
    return 0;
}

static int chain(struct bench *bench, double *figure)
{
    size_t hops = bench->quick ? 100 : 10000;
    struct gw_graph *graph = gw_graph_new();
    struct gw_future *future;
    struct gw_value *value;
    uint64_t begin_ns = gw_clock_now_ns();
    gw_node node = gw_call(graph, bench_next, NULL, gw_i64(0));
    for (size_t i = 1; i < hops; i++)
        node = gw_call(graph, bench_next, NULL, gw_ref(node));
    int rc = gw_client_submit(bench->client, graph, node, &future, &bench->error);
    gw_graph_free(graph);
    if (rc < 0)
        return rc;
    int64_t result = 0;
    rc = gw_future_get(future, 0, &value, &bench->error);
    *figure = seconds_since(begin_ns) * 1e6 / (double)hops;
    if (rc == 0) {
        rc = gw_value_get_i64(value, &result, &bench->error);
        gw_value_unref(value);
    }
    gw_future_release(future);
    return rc == 0 && result != (int64_t)hops ? wrong(bench, hops) : rc;
}

/* -- Gangs ---------------------------------------------------------------------------------------
 */

static int one_gang(struct bench *bench, double *milliseconds)
{
    struct gw_future *future;
    uint64_t begin_ns = gw_clock_now_ns();
    int rc = gw_dispatch(bench->wide, 4, &future, &bench->error, bench_first);
    if (rc < 0)
        return rc;
    for (uint32_t rank = 0; rank < 4 && rc == 0; rank++) {
        struct gw_value *value;
        double sum = 0;
        rc = gw_future_get(future, rank, &value, &bench->error);
        if (rc < 0)
            break;
        rc = gw_value_get_f64(value, &sum, &bench->error);
        gw_value_unref(value);
        if (rc == 0 && sum != 1 + 2 + 3 + 4)
            rc = wrong(bench, rank);
    }
    *milliseconds = seconds_since(begin_ns) * 1e3;
    gw_future_release(future);
    return rc;
}

static int gang_of_four(struct bench *bench, double *figure)
{
    enum { ROUNDS_MAX = 51 };
    double times[ROUNDS_MAX], warm_up;
    size_t rounds = bench->quick ? 5 : ROUNDS_MAX;
    int rc = one_gang(bench, &warm_up);
    for (size_t i = 0; i < rounds && rc == 0; i++)
        rc = one_gang(bench, &times[i]);
    *figure = rc == 0 ? median(times, rounds) : 0;
    return rc;
}

static int all_reduce(struct bench *bench, double *figure)
{
    struct gw_future *future;
    struct gw_value *value;
    int64_t bytes = 105000000, rounds = bench->quick ? 3 : 21;
    int rc = gw_dispatch(bench->client, 2, &future, &bench->error, bench_all_reduce, gw_i64(bytes),
                         gw_i64(rounds));
    if (rc < 0)
        return rc;
    rc = gw_future_get(future, 0, &value, &bench->error);
    if (rc == 0) {
        rc = gw_value_get_f64(value, figure, &bench->error);
        gw_value_unref(value);
    }
    gw_future_release(future);
    return rc;
}

/* -- Commands ------------------------------------------------------------------------------------
 */

static int commands(struct bench *bench, double *figure)
{
    enum { COUNT_MAX = 4000 };
    static gw_node nodes[COUNT_MAX];
    static struct gw_future *futures[COUNT_MAX];
    static const char *const argv[] = {"/bin/true", NULL};
    const struct gw_command command = {.argv = argv};
    size_t count = bench->quick ? 50 : COUNT_MAX;
    struct gw_graph *graph = gw_graph_new();
    uint64_t begin_ns = gw_clock_now_ns();
    for (size_t i = 0; i < count; i++)
        nodes[i] = gw_graph_command(graph, &command, NULL);
    int rc =
        gw_client_submit_many(bench->client, graph, NULL, nodes, count, futures, &bench->error);
    gw_graph_free(graph);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        struct gw_value *value;
        if (rc == 0 && (rc = gw_future_get(futures[i], 0, &value, &bench->error)) == 0)
            gw_value_unref(value);
    }
    *figure = (double)count / seconds_since(begin_ns);
    for (size_t i = 0; i < count; i++)
        gw_future_release(futures[i]);
    return rc;
}

/* -- All of them ---------------------------------------------------------------------------------
 */

static const struct measure {
    const char *key, *what;
    int (*run)(struct bench *bench, double *figure);
} measures[] = {
    {"noop_tasks_per_s", "no-op tasks a second", noop_tasks},
    {"task_latency_us", "one task, submit to result (us)", latency},
    {"chain_hop_us", "dependent tasks, a hop (us)", chain},
    {"gang4_first_allreduce_ms", "gang of 4, submit to first all-reduce (ms)", gang_of_four},
    {"allreduce_105mb_ms", "all-reduce of 105 MB, 2 ranks (ms)", all_reduce},
    {"command_tasks_per_s", "commands a second", commands},
};
enum { MEASURES = sizeof measures / sizeof *measures };

static int run_all(struct bench *bench, bool json, double figures[MEASURES])
{
    struct gw_client_options options = {.name = "bench", .private_cluster = true, .slots = 2};
    int rc = gw_client_open(&options, &bench->client, &bench->error);
    options.slots = 4;
    if (rc == 0)
        rc = gw_client_open(&options, &bench->wide, &bench->error);
    for (size_t i = 0; i < MEASURES && rc == 0; i++) {
        rc = measures[i].run(bench, &figures[i]);
        if (rc < 0)
            gw_error_prefix(&bench->error, "%s", measures[i].key);
        else if (!json)
            printf("%-44s %12.*f\n", measures[i].what, figures[i] < 1000 ? 2 : 0, figures[i]);
        fflush(stdout);
    }
    gw_client_close(bench->client);
    gw_client_close(bench->wide);
    return rc;
}

int gw_cli_bench(int argc, char **argv)
{
    struct bench bench = {0};
    bool json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"quick", 0, GW_OPTION_FLAG, &bench.quick, NULL, "a hundredth of the work, for tests"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "bench",
        .arguments = "",
        .summary = "Measure this build on private clusters: two runners, every result checked.",
        .table = table,
    };
    double figures[MEASURES] = {0};
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (run_all(&bench, json, figures) < 0)
        return gw_cli_error(&bench.error);
    for (size_t i = 0; i < MEASURES && json; i++)
        printf("%s\"%s\": %.3f%s", i ? "  " : "{\n  ", measures[i].key, figures[i],
               i + 1 < MEASURES ? ",\n" : "\n}\n");
    return GW_EXIT_OK;
}
