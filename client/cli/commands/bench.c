/* `gangway bench` measures this build on private clusters. It fetches and checks every result,
 * because figures of wrong results would be worthless. To add a figure, add a row here and a group
 * in ../bench/bench.h. */
#include "client/cli/commands/commands.h"

#include "client/cli/bench/bench.h"
#include "client/cli/lib/nearest.h"
#include "client/cli/lib/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With this size, 100 million unfinished tasks fit in 24 GiB. */
#define LIVE_BYTES 257

static const struct row {
    const char *key, *what, *unit;
    double reach; /* target value; 0: none */
    bool below;   /* smaller figures are better */
    int (*run)(struct gw_bench *bench, double *figures);
    int at; /* index in the figures of the group; rows of a group are adjacent */
} rows[] = {
    {"noop_tasks_per_s", "no-op tasks, a bag of 1M", "tasks/s", 1e6, false, gw_bench_bag, 0},
    {"noop_killed_tasks_per_s", "  the same, one runner killed", "tasks/s", 0, false, gw_bench_bag,
     1},
    {"tree_tasks_per_s", "tree, 100k tasks", "tasks/s", 5e5, false, gw_bench_graphs, 0},
    {"merge_tasks_per_s", "merge, 100k tasks", "tasks/s", 5e5, false, gw_bench_graphs, 1},
    {"random_tasks_per_s", "random, 1.5 edges a task", "tasks/s", 5e5, false, gw_bench_graphs, 2},
    {"submit_1m_s", "submit 1M tasks, 1.5M edges", "s", 0.6, true, gw_bench_submit, 0},
    {"first_task_ms", "  until its first task starts", "ms", 5, true, gw_bench_submit, 1},
    {"task_latency_us", "one task, submit to result", "us", 0, true, gw_bench_latency, 0},
    {"latency_ratio_one_cpu", "  over 4 round trips, one CPU", "x", 2, true, gw_bench_latency_ratio,
     0},
    {"latency_ratio_unpinned", "  over 4 round trips, unpinned", "x", 3, true,
     gw_bench_latency_ratio, 1},
    {"trickle_scheduler_cpu_us", "scheduler CPU, tasks one by one", "us", 20, true,
     gw_bench_latency_trickle, 0},
    {"trickle_scheduler_syscalls", "  system calls", "", 7, true, gw_bench_latency_trickle, 1},
    {"trickle_scheduler_switches", "  context switches", "", 0, true, gw_bench_latency_trickle, 2},
    {"chain_hop_us", "chain, a hop", "us", 0, true, gw_bench_chain, 0},
    {"chain_hop_same_runner_us", "  in one runner", "us", 5, true, gw_bench_chain_kinds, 0},
    {"chain_hop_other_runner_us", "  to another runner", "us", 40, true, gw_bench_chain_kinds, 1},
    {"chain_hop_other_worker_us", "  to another worker", "us", 60, true, gw_bench_chain_kinds, 2},
    {"metg_stencil_1d_us", "METG(50%), stencil_1d, 2 cores", "us", 150, true, gw_bench_metg, 0},
    {"handoff_64mib_us", "64 MiB to the next task", "us", 400, true, gw_bench_handoff, 0},
    {"handoff_read_over_memcpy", "  read once, over memcpy", "x", 1.2, true, gw_bench_handoff, 1},
    {"handoff_first_read_over_memcpy", "  the first of all", "x", 0, true, gw_bench_handoff, 2},
    {"peer_tls_mb_per_s", "64 MiB to another worker, TLS", "MB/s", 0, false, gw_bench_peers, 0},
    {"peer_tls_over_pump", "  over a bare TLS pump", "x", 0.8, false, gw_bench_peers, 1},
    {"scheduler_bytes_per_task", "scheduler memory, a task", "bytes", 96, true, gw_bench_memory, 0},
    {"scheduler_bytes_per_edge", "  an edge", "bytes", 8, true, gw_bench_memory, 1},
    {"scheduler_alone_tasks_per_s", "scheduler alone, in one process", "tasks/s", 1.5e6, false,
     gw_bench_alone, 0},
    {"live_10m_bytes_per_task", "  memory of 10M live tasks, each", "bytes", LIVE_BYTES, true,
     gw_bench_alone, 1},
    {"gang4_first_allreduce_ms", "gang of 4, to first all-reduce", "ms", 0, true, gw_bench_gang, 0},
    {"allreduce_105mb_ms", "all-reduce of 105 MB, 2 ranks", "ms", 0, true, gw_bench_gang_all_reduce,
     0},
    {"command_tasks_per_s", "commands", "tasks/s", 0, false, gw_bench_commands, 0},
    {"command_over_spawn", "  over bare posix_spawn", "x", 0.85, false, gw_bench_commands, 1},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void print_row(const struct row *row, double figure)
{
    char measured[32] = "-", reach[32] = "";
    if (!isnan(figure))
        (void)snprintf(measured, sizeof measured, "%.*f", fabs(figure) < 1000 ? 2 : 0, figure);
    if (row->reach > 0)
        (void)snprintf(reach, sizeof reach, "%s %g%s", row->below ? "<=" : ">=", row->reach,
                       isnan(figure)                                                ? ""
                       : (row->below ? figure <= row->reach : figure >= row->reach) ? "  reached"
                                                                                    : "");
    printf("%-32s %12s %-8s %s\n", row->what, measured, row->unit, reach);
    (void)fflush(stdout);
}

static int run_all(struct gw_bench *bench, bool json, const bool wanted[ROWS], double figures[ROWS])
{
    if (!json)
        printf("%-32s %12s %-8s %s\n", "WHAT", "FIGURE", "UNIT", "REACH");
    for (size_t i = 0, end; i < ROWS; i = end) {
        double group[GW_BENCH_FIGURES_MAX];
        bool any = false;
        for (end = i; end < ROWS && rows[end].run == rows[i].run; end++)
            any |= wanted[end];
        if (!any)
            continue;
        int rc = rows[i].run(bench, group);
        if (rc < 0) {
            gw_error_prefix(&bench->error, "%s", rows[i].key);
            return rc;
        }
        for (size_t k = i; k < end; k++) {
            figures[k] = group[rows[k].at];
            if (wanted[k] && !json)
                print_row(&rows[k], figures[k]);
        }
    }
    return 0;
}

static void print_json(const bool wanted[ROWS], const double figures[ROWS])
{
    const char *separator = "{\n  ";
    for (size_t i = 0; i < ROWS; i++) {
        if (!wanted[i])
            continue;
        if (isnan(figures[i]))
            printf("%s\"%s\": null", separator, rows[i].key);
        else
            printf("%s\"%s\": %.3f", separator, rows[i].key, figures[i]);
        separator = ",\n  ";
    }
    printf("\n}\n");
}

static const char *next_key(void *arg, size_t i)
{
    (void)arg;
    return i < ROWS ? rows[i].key : NULL;
}

/* Parses --only. Prints an error and returns false if a key is unknown. */
static bool choose(const char *only, bool wanted[ROWS])
{
    for (size_t i = 0; i < ROWS; i++)
        wanted[i] = !only;
    while (only) {
        size_t length = strcspn(only, ","), i = 0;
        while (i < ROWS && (strlen(rows[i].key) != length || strncmp(rows[i].key, only, length)))
            i++;
        if (i == ROWS) {
            char key[64];
            (void)snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), only);
            const char *nearest = gw_nearest_word(key, next_key, NULL);
            (void)fprintf(stderr, "gangway bench: --only: no figure is called '%s'%s%s%s\n", key,
                          nearest ? ", did you mean '" : "", nearest ? nearest : "",
                          nearest ? "'?" : "; `gangway bench --help` lists them");
            return false;
        }
        wanted[i] = true;
        only = only[length] ? only + length + 1 : NULL;
    }
    return true;
}

int gw_cli_bench(int argc, char **argv)
{
    struct gw_bench bench = {0};
    const char *only = NULL;
    bool json = false, wanted[ROWS];
    int first, exit_code;
    char details[4096];
    const struct gw_option table[] = {
        {"only", 0, GW_OPTION_TEXT, &only, "KEY[,KEY]", "measure only these figures"},
        {"quick", 0, GW_OPTION_FLAG, &bench.quick, NULL, "do a hundredth of the work, for tests"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    size_t at = (size_t)snprintf(
        details, sizeof details,
        "A dash (null in JSON) means that a figure cannot be measured on this machine.\n"
        "Keys:");
    for (size_t i = 0; i < ROWS && at < sizeof details; i++)
        at += (size_t)snprintf(details + at, sizeof details - at, "\n  %-28s %s", rows[i].key,
                               rows[i].what + strspn(rows[i].what, " "));
    const struct gw_options options = {
        .command = "bench",
        .arguments = "",
        .summary = "Measure this build on private clusters: two runners, every result checked.",
        .details = details,
        .table = table,
    };
    double figures[ROWS] = {0};
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (!choose(only, wanted))
        return GW_EXIT_USAGE;
    if (run_all(&bench, json, wanted, figures) < 0)
        return gw_cli_error(&bench.error);
    if (json)
        print_json(wanted, figures);
    return GW_EXIT_OK;
}
