/* comm_bench [--ranks N] [--json] [--quick]: measures the collectives of the host backend on this
 * machine. Ranks are processes. Each line is the median of rank 0's times; a barrier comes before
 * every operation. The reductions are sums of floats. "shared" works in place in memory of
 * gw_comm_alloc, "private" in place in any other memory. algbw is bytes / time, busbw is algbw
 * times 2 (n - 1) / n, as in nccl-tests. */
#include "tests/bench/timing.h"

#include <gangway/comm.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMES_MAX = 4000, TIMES_QUICK = 5, BYTES_QUICK = 1 << 20 };

struct options {
    int ranks;
    bool json, quick;
};

struct line {
    const char *operation; /* "all_reduce" or "barrier" */
    size_t bytes;
    bool shared;
    int times;
};

static const struct line lines[] = {
    {"barrier", 0, false, 4000},          {"all_reduce", 4, false, 4000},
    {"all_reduce", 4096, false, 4000},    {"all_reduce", 4096, true, 4000},
    {"all_reduce", 65536, false, 2000},   {"all_reduce", 65536, true, 2000},
    {"all_reduce", 1 << 20, false, 400},  {"all_reduce", 1 << 20, true, 400},
    {"all_reduce", 26000000, false, 30},  {"all_reduce", 26000000, true, 30},
    {"all_reduce", 105000000, false, 15}, {"all_reduce", 105000000, true, 15},
};

/* Measures one line. Returns the median in microseconds. */
static double line_run(struct gw_comm *comm, const struct line *line, int count)
{
    static double times[TIMES_MAX];
    struct gw_error error;
    void *memory = NULL;
    if (line->shared) {
        timing_must(gw_comm_alloc(comm, line->bytes, &memory, &error), &error);
    } else {
        memory = calloc(1, line->bytes + 1);
        if (!memory)
            abort();
    }
    memset(memory, 0, line->bytes);
    const struct gw_comm_args args = {
        .recv = memory, .count = line->bytes / sizeof(float), .dtype = GW_DTYPE_F32};
    for (int i = -3; i < count; i++) { /* three of them to warm up */
        timing_must(gw_comm_barrier(comm, &error), &error);
        double start_us = timing_now_us();
        timing_must(line->bytes ? gw_comm_all_reduce(comm, &args, &error)
                                : gw_comm_barrier(comm, &error),
                    &error);
        if (i >= 0)
            times[i] = timing_now_us() - start_us;
    }
    if (line->shared)
        gw_comm_dealloc(comm, memory);
    else
        free(memory);
    qsort(times, (size_t)count, sizeof times[0], timing_compare);
    return times[count / 2];
}

static void line_print(const struct line *line, int ranks, double us, bool json)
{
    const double gbs = us > 0 ? (double)line->bytes / us * 1e-3 : 0;
    const char *memory = line->bytes == 0 ? "" : line->shared ? "shared" : "private";
    if (json)
        (void)printf("{\"operation\":\"%s\",\"ranks\":%d,\"bytes\":%zu,\"memory\":\"%s\","
                     "\"us\":%.3f,\"algbw_gbs\":%.3f}\n",
                     line->operation, ranks, line->bytes, memory, us, gbs);
    else
        (void)printf("%-11s %10zu B  %-8s %11.2f us  algbw %7.2f GB/s  busbw %7.2f GB/s\n",
                     line->operation, line->bytes, memory, us, gbs, gbs * 2 * (ranks - 1) / ranks);
    (void)fflush(stdout);
}

static void rank_run(int fd, int rank, const struct options *options)
{
    const struct gw_comm_host_options host =
        GW_INIT(gw_comm_host_options, .fd = fd, .rank = rank, .ranks = options->ranks);
    struct gw_comm *comm;
    struct gw_error error;
    timing_must(gw_comm_open_host(&host, &comm, &error), &error);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (options->quick && lines[i].bytes > BYTES_QUICK)
            continue;
        double us = line_run(comm, &lines[i], options->quick ? TIMES_QUICK : lines[i].times);
        if (rank == 0)
            line_print(&lines[i], options->ranks, us, options->json);
    }
    gw_comm_close(comm);
}

int main(int argc, char **argv)
{
    struct options options = {.ranks = 2};
    int fd, failed = 0;
    struct gw_error error;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            options.json = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            options.quick = true;
        } else if (strcmp(argv[i], "--ranks") == 0 && i + 1 < argc) {
            options.ranks = atoi(argv[++i]);
        } else {
            (void)fprintf(stderr, "usage: comm_bench [--ranks N] [--json] [--quick]\n");
            return 2;
        }
    }
    if (gw_comm_segment_create(options.ranks, &fd, &error) < 0) {
        (void)fprintf(stderr, "comm_bench: %s\n", error.text);
        return 2;
    }
    for (int rank = 0; rank < options.ranks; rank++) {
        pid_t pid = fork();
        if (pid == 0) {
            rank_run(fd, rank, &options);
            _exit(0);
        }
        failed += pid < 0;
    }
    if (failed > 0)
        (void)gw_comm_segment_abort(fd, GW_ENOMEM, -1, NULL);
    for (int status; wait(&status) > 0;) {
        if (status == 0)
            continue;
        failed++;
        (void)gw_comm_segment_abort(fd, GW_ECRASHED, -1, NULL);
    }
    close(fd);
    return failed > 0;
}
