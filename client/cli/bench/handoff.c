/* Passes 64 MiB from one task to the next on the same host. Measures the time until the next task
 * has mapped the result, and the time to read it once divided by the time of a memcpy. The second
 * figure is given for a pipeline in the steady state, where results reuse the same memory, and for
 * the first result, whose memory is new. */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/tasks.h"
#include "graph/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = GW_BENCH_HANDOFF_BYTES, ROUNDS_MAX = 15 };

static uint64_t sum_expected(uint64_t seed)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < BYTES / 8; i++)
        sum += seed + i;
    return sum;
}

static int read_list(struct gw_bench *bench, struct gw_future *future, int64_t items[4])
{
    struct gw_value *list;
    int rc = gw_future_get(future, 0, &list, &bench->error);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < 4 && rc == 0; i++)
        rc = gw_value_get_i64(gw_value_at(list, i), &items[i], &bench->error);
    gw_value_unref(list);
    return rc;
}

int gw_bench_handoff_once(struct gw_bench *bench, struct gw_client *client,
                          const struct gw_bench_ends *ends, int64_t seed, double out[2])
{
    int clock = ends->clock;
    char path[64];
    struct gw_future *future;
    int64_t items[4];
    uint64_t returned_ns;
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), clock);
    struct gw_graph *graph = gw_graph_new();
    gw_node made =
        gw_call(graph, bench_produce, ends->from, gw_i64(BYTES), gw_i64(seed), gw_str(path));
    gw_node read = gw_call(graph, bench_consume, ends->to, gw_result(made));
    int rc = gw_client_submit(client, graph, read, &future, &bench->error);
    gw_graph_free(graph);
    if (rc < 0)
        return rc;
    rc = read_list(bench, future, items);
    gw_future_release(future);
    if (rc < 0)
        return rc;
    if (pread(clock, &returned_ns, sizeof returned_ns, 0) != sizeof returned_ns)
        return gw_error_set(&bench->error, GW_EIO,
                            "the first of two tasks did not write the time at which it ended");
    if ((uint64_t)items[3] != sum_expected((uint64_t)seed))
        return gw_bench_wrong(bench, (size_t)seed);
    out[0] = (double)(items[0] - (int64_t)returned_ns) / 1e3;
    out[1] = (double)items[1] / (double)items[2];
    return 0;
}

int gw_bench_handoff(struct gw_bench *bench, double *figures)
{
    double us[ROUNDS_MAX], ratio[ROUNDS_MAX], both[2], first_ratio = 0;
    size_t rounds = bench->quick ? 1 : ROUNDS_MAX;
    struct gw_client *client;
    int clock = memfd_create("gangway-bench", MFD_CLOEXEC);
    if (clock < 0)
        return gw_error_set(&bench->error, GW_EIO, "memfd_create: %s", strerror(errno));
    int rc = gw_bench_open(bench, 3, 1, &client);
    if (rc < 0) {
        close(clock);
        return rc;
    }
    const struct gw_bench_ends ends = {
        .clock = clock,
        .to = GW_OPTIONS(.slots = 2)}; /* another resource class, so it gets a runner of its own */
    rc = gw_bench_handoff_once(bench, client, &ends, 0, both); /* starts runners */
    first_ratio = rc == 0 ? both[1] : 0;
    for (size_t i = 0; i < rounds && rc == 0; i++) {
        rc = gw_bench_handoff_once(bench, client, &ends, (int64_t)i + 1, both);
        us[i] = both[0];
        ratio[i] = both[1];
    }
    if (rc == 0) {
        figures[0] = gw_bench_median(us, rounds);
        figures[1] = gw_bench_median(ratio, rounds);
        figures[2] = first_ratio;
    }
    gw_client_close(client);
    close(clock);
    return rc;
}
