/* Sends 64 MiB from one worker to another by TLS over loopback. The time runs from the return of
 * the task that made the result until the task that takes it runs. Alternately, the same number of
 * bytes is sent over a plain TLS connection (pump.c). */
#include "client/cli/bench/bench.h"
#include "client/cli/bench/pump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = GW_BENCH_HANDOFF_BYTES, ROUNDS_MAX = 9 };

static int measure(struct gw_bench *bench, struct gw_client *client, int clock, double *figures)
{
    const struct gw_bench_ends ends = {.clock = clock,
                                       .from = GW_OPTIONS(.workers = "worker-1"),
                                       .to = GW_OPTIONS(.workers = "worker-2")};
    double ours[ROUNDS_MAX], pumps[ROUNDS_MAX], both[2];
    size_t rounds = bench->quick ? 1 : ROUNDS_MAX;
    char *data = malloc(BYTES);
    if (!data)
        return gw_bench_no_memory(bench);
    memset(data, 3, BYTES);
    int rc = gw_bench_handoff_once(bench, client, &ends, 0,
                                   both); /* starts runners and connects the workers */
    for (size_t i = 0; i < rounds && rc == 0; i++) {
        rc = gw_bench_pump(data, BYTES, &pumps[i], &bench->error);
        if (rc == 0)
            rc = gw_bench_handoff_once(bench, client, &ends, (int64_t)i + 1, both);
        ours[i] = both[0] / 1e6;
    }
    free(data);
    if (rc < 0)
        return rc;
    double seconds = gw_bench_median(ours, rounds);
    figures[0] = BYTES / seconds / 1e6;
    figures[1] = gw_bench_median(pumps, rounds) / seconds;
    return 0;
}

int gw_bench_peers(struct gw_bench *bench, double *figures)
{
    const struct gw_client_options options =
        GW_INIT(gw_client_options, .name = "bench", .private_cluster = true, .slots = 2,
                .workers = 2, .peers = "127.0.0.1");
    struct gw_client *client;
    int clock = memfd_create("gangway-bench", MFD_CLOEXEC);
    if (clock < 0)
        return gw_error_set(&bench->error, GW_EIO, "memfd_create: %s", strerror(errno));
    int rc = gw_client_open(&options, &client, &bench->error);
    if (rc == 0) {
        rc = measure(bench, client, clock, figures);
        gw_client_close(client);
    }
    close(clock);
    return rc;
}
