/* Bags: a million no-op tasks with different arguments; every result is checked. The second
 * measurement kills one runner in the middle, which must cost nothing but time. */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/tasks.h"
#include "graph/base/clock.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3, KILLS_TRIED_MAX = 20 };

static int number(size_t i, struct gw_value **args, void *arg)
{
    args[0] = gw_i64((int64_t)i);
    return 0;
}

struct bag {
    struct gw_client *client;
    size_t count;
    bool kill;    /* kill one runner, as soon as a result names its process */
    size_t after; /* tasks that had not ended when the runner was killed; 0: no runner was killed */
    struct gw_bench_runners runners;
    double seconds;
};

static int kill_one(struct gw_bench *bench, struct bag *bag, struct gw_future *const *futures)
{
    size_t pending = 0;
    if (kill(bag->runners.pids[0], SIGKILL) < 0)
        return gw_error_set(&bench->error, GW_EIO, "kill: %s", strerror(errno));
    for (size_t i = 0; i < bag->count; i++)
        pending += gw_future_state(futures[i]) == GW_PENDING;
    bag->after = pending;
    bag->kill = false;
    return 0;
}

static int run(struct gw_bench *bench, struct bag *bag)
{
    struct gw_future **futures = calloc(bag->count, sizeof(struct gw_future *));
    const struct gw_map_call call =
        GW_INIT(gw_map_call, .function = GW_FUNCTION(bench_noop), .count = bag->count,
                .arg_count = 1, .make_args = number);
    if (!futures)
        return gw_bench_no_memory(bench);
    uint64_t begin_ns = gw_clock_now_ns();
    int rc = gw_map(bag->client, &call, futures, &bench->error);
    bool all = rc == 0;
    for (size_t i = 0; i < bag->count && rc == 0; i++) {
        int64_t result;
        rc = gw_bench_get_i64(bench, futures[i], &result);
        if (rc == 0 && gw_bench_runners_see(&bag->runners, result) != gw_bench_expected((int64_t)i))
            rc = gw_bench_wrong(bench, i);
        if (rc == 0 && bag->kill && bag->runners.count > 0)
            rc = kill_one(bench, bag, futures);
    }
    bag->seconds = gw_bench_seconds_since(begin_ns);
    for (size_t i = 0; i < bag->count && all; i++)
        gw_future_release(futures[i]);
    free(futures);
    return rc;
}

static int killed(struct gw_bench *bench, struct gw_client *client, size_t count, double *figure)
{
    struct bag bag;
    int tries = 0, rc;
    do {
        bag = (struct bag){.client = client, .count = count, .kill = true};
        rc = run(bench, &bag);
    } while (rc == 0 && bag.after == 0 && ++tries < KILLS_TRIED_MAX);
    if (rc < 0)
        return rc;
    *figure = bag.after ? (double)count / bag.seconds
                        : NAN; /* NAN: the tasks always ended before the kill */
    return 0;
}

int gw_bench_bag(struct gw_bench *bench, double *figures)
{
    struct gw_client *client;
    double rates[ROUNDS];
    struct bag warm_up = {.count = 1000}; /* starts runners and sends the program */
    size_t count = gw_bench_count(bench, 1000000, 1), rounds = bench->quick ? 1 : ROUNDS;
    int rc = gw_bench_open(bench, 2, 1, &client);
    if (rc < 0)
        return rc;
    warm_up.client = client;
    rc = run(bench, &warm_up);
    for (size_t i = 0; i < rounds && rc == 0; i++) {
        struct bag bag = {.client = client, .count = count};
        rc = run(bench, &bag);
        if (rc == 0)
            rc = gw_bench_runners_check(bench, &bag.runners);
        rates[i] = (double)count / bag.seconds;
    }
    if (rc == 0) {
        figures[0] = gw_bench_median(rates, rounds);
        rc = killed(bench, client, count, &figures[1]);
    }
    gw_client_close(client);
    return rc;
}
