/* ring_bench [--ddp] [--plain] [--bytes N] [--times N] ENDPOINT RANK: measures all-reduce
 * in place between two ranks on two hosts, one process each, with TLS unless --plain is given. Rank
 * 0 listens at ENDPOINT (numeric HOST:PORT) and prints that it does. Then it prints one line of
 * JSON: the median of its times, and busbw, which for two ranks is bytes / time. `ring_bench`
 * without arguments runs both ranks on this machine, as a test. With --ddp it measures steps of
 * data-parallel training that compute as long as they communicate: the medians of computation
 * alone, of communication alone, and of both together. */
#include "graph/wire/endpoint.h"
#include "tests/bench/timing.h"

#include <gangway/ddp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMES_MAX = 1000, HERE_BYTES = 1 << 20, HERE_TIMES = 3, PARAMS = 32, BUCKETS = 16 };

struct options {
    struct gw_comm *comm;
    bool plain, ddp;
    size_t bytes;
    int times, rank;
    const char *endpoint;
};

static double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof times[0], timing_compare);
    return times[count / 2];
}

static double median_us(struct gw_comm *comm, const struct options *options)
{
    static double times[TIMES_MAX];
    struct gw_error error;
    float *data = calloc(1, options->bytes);
    if (!data)
        abort();
    const struct gw_comm_args args = {
        .recv = data, .count = options->bytes / sizeof *data, .dtype = GW_DTYPE_F32};
    for (int i = -1; i < options->times; i++) { /* one of them to warm up */
        timing_must(gw_comm_barrier(comm, &error), &error);
        const double start_us = timing_now_us();
        timing_must(gw_comm_all_reduce(comm, &args, &error), &error);
        if (i >= 0)
            times[i] = timing_now_us() - start_us;
    }
    free(data);
    return median(times, options->times);
}

/* Stands for the backward pass of one parameter. It waits, as for a GPU: the two simulated hosts
 * share their processors with each other and with the reductions. */
static void compute(double us)
{
    static int timer = -1;
    uint64_t times;
    const struct itimerspec wait = {
        .it_value = {(time_t)(us * 1e-6), 1 + (long)(us * 1e3) % 1000000000}};
    if (timer < 0)
        timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timerfd_settime(timer, 0, &wait, NULL) < 0 || read(timer, &times, sizeof times) < 0)
        abort();
}

/* A step: computes, or reduces, or both. Returns how long it took. */
static double step_us(struct gw_ddp *ddp, const struct options *options, double compute_us,
                      bool reduces)
{
    struct gw_error error;
    timing_must(gw_comm_barrier(options->comm, &error), &error);
    const double start_us = timing_now_us();
    timing_must(gw_ddp_begin(ddp, reduces, &error), &error);
    for (size_t i = PARAMS; i-- > 0;) {
        compute(compute_us / PARAMS);
        timing_must(gw_ddp_ready(ddp, i, &error), &error);
    }
    timing_must(gw_ddp_finish(ddp, &error), &error);
    return timing_now_us() - start_us;
}

static void ddp_measure(const struct options *options)
{
    static double alone[TIMES_MAX], reduce[TIMES_MAX], both[TIMES_MAX];
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    struct gw_error error;
    const size_t count = options->bytes / PARAMS / sizeof(float);
    float *data = calloc(count, sizeof *data);
    if (!data)
        abort();
    for (int i = 0; i < PARAMS; i++)
        params[i] =
            (struct gw_ddp_param){.data = data, .dtype = GW_DTYPE_F32, .dims = 1, .shape = {count}};
    const struct gw_ddp_options ddp_options =
        GW_INIT(gw_ddp_options, .comm = options->comm, .params = params, .params_count = PARAMS,
                .first_bucket_bytes = options->bytes / BUCKETS,
                .bucket_bytes = options->bytes / BUCKETS, .no_broadcast = true);
    timing_must(gw_ddp_open(&ddp_options, &ddp, &error), &error);
    (void)step_us(ddp, options, 0, true); /* to warm up */
    double length = step_us(ddp, options, 0, true);
    timing_must(gw_comm_broadcast(options->comm,
                                  GW_COMM_ARGS(.recv = &length, .count = 1, .dtype = GW_DTYPE_F64),
                                  &error),
                &error);
    for (int i = 0; i < options->times; i++) {
        alone[i] = step_us(ddp, options, length, false);
        reduce[i] = step_us(ddp, options, 0, true);
        both[i] = step_us(ddp, options, length, true);
    }
    const double computes = median(alone, options->times);
    const double reduces = median(reduce, options->times);
    const double step = median(both, options->times);
    if (options->rank == 0)
        (void)printf("{\"bytes\": %zu, \"tls\": %s, \"compute_us\": %.0f, \"reduce_us\": %.0f, "
                     "\"step_us\": %.0f, \"ratio\": %.3f}\n",
                     options->bytes, options->plain ? "false" : "true", computes, reduces, step,
                     step / (computes > reduces ? computes : reduces));
    gw_ddp_close(ddp);
    free(data);
}

/* listener: used by rank 0 */
static int rank_run(struct options *options, int listener)
{
    static const uint8_t key[32] = "a key that everybody may know";
    struct gw_comm *comm;
    struct gw_error error;
    int fd;
    timing_must(gw_comm_segment_create(1, &fd, &error), &error);
    const struct gw_comm_hosts_options hosts = GW_INIT(
        gw_comm_hosts_options, .fd = fd, .rank = options->rank, .ranks = 2,
        .first_rank = options->rank, .local_ranks = 1, .attempt = 1, .endpoint = options->endpoint,
        .listener = listener, .key = options->plain ? NULL : key);
    timing_must(gw_comm_open_hosts(&hosts, &comm, &error), &error);
    options->comm = comm;
    if (options->ddp)
        ddp_measure(options);
    const double us = options->ddp ? 0 : median_us(comm, options);
    if (options->rank == 0 && !options->ddp)
        (void)printf("{\"bytes\": %zu, \"tls\": %s, \"us\": %.1f, \"busbw_gbit\": %.3f}\n",
                     options->bytes, options->plain ? "false" : "true", us,
                     (double)options->bytes * 8e-3 / us);
    (void)fflush(stdout);
    gw_comm_close(comm);
    close(fd);
    return 0;
}

static int listen_at(const char *endpoint, char actual[GW_ENDPOINT_TEXT_MAX])
{
    struct gw_error error;
    int listener;
    timing_must(gw_endpoint_listen(endpoint, &listener, actual, &error), &error);
    (void)printf("listening at %s\n", actual);
    (void)fflush(stdout);
    return listener;
}

/* Runs both ranks on loopback. */
static int run_here(void)
{
    char endpoint[GW_ENDPOINT_TEXT_MAX];
    const int listener = listen_at("127.0.0.1", endpoint);
    struct options options = {.bytes = HERE_BYTES, .times = HERE_TIMES, .endpoint = endpoint};
    int status = 0;
    const pid_t pid = fork();
    if (pid < 0)
        return 1;
    options.rank = pid == 0;
    const int rc = rank_run(&options, listener);
    close(listener);
    if (pid == 0)
        _exit(rc);
    return waitpid(pid, &status, 0) < 0 || status ? 1 : rc;
}

static int usage(void)
{
    (void)fprintf(stderr,
                  "usage: ring_bench [--ddp] [--plain] [--bytes N] [--times N] ENDPOINT 0|1\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct options options = {.bytes = 105000000, .times = 10};
    char actual[GW_ENDPOINT_TEXT_MAX];
    int at = 1;
    if (argc == 1)
        return run_here();
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--plain") == 0)
            options.plain = true;
        else if (strcmp(argv[at], "--ddp") == 0)
            options.ddp = true;
        else if (strcmp(argv[at], "--bytes") == 0 && at + 1 < argc)
            options.bytes = strtoull(argv[++at], NULL, 10);
        else if (strcmp(argv[at], "--times") == 0 && at + 1 < argc)
            options.times = atoi(argv[++at]);
        else
            return usage();
    }
    if (at + 2 != argc || options.times < 1 || options.times > TIMES_MAX || options.bytes < 4)
        return usage();
    options.endpoint = argv[at];
    options.rank = atoi(argv[at + 1]) != 0;
    return rank_run(&options, options.rank == 0 ? listen_at(options.endpoint, actual) : -1);
}
