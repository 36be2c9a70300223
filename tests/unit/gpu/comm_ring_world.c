/* The host backend across hosts, for the conformance suite: every host of a world is a segment of
 * its own, and all of them are on this machine. */
#include "tests/unit/gpu/comm_world.h"

#include "graph/wire/endpoint.h"
#include "graph/wire/tls.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOSTS_MAX = 4 };

/* One world at a time, inherited by its processes. */
static struct {
    int hosts;
    int segment[HOSTS_MAX];
    int first[HOSTS_MAX + 1];
    int listener;
    char endpoint[GW_ENDPOINT_TEXT_MAX];
    uint8_t key[GW_TLS_SECRET_BYTES];
} ring;

static int ring_create(int ranks, int *handle)
{
    ring.hosts = ranks == 1 ? 1 : 2 + ranks % 2; /* 1, 2, 3, 2, 3 ... */
    int rc = gw_endpoint_listen("127.0.0.1:0", &ring.listener, ring.endpoint, NULL);
    if (rc < 0)
        return rc;
    /* The hosts have different sizes if the ranks do not divide evenly: the last ones have more. */
    for (int i = 0; i <= ring.hosts; i++)
        ring.first[i] = i * ranks / ring.hosts;
    for (int i = 0; i < ring.hosts && rc == 0; i++)
        rc = gw_comm_segment_create(ring.first[i + 1] - ring.first[i], &ring.segment[i], NULL);
    *handle = ring.segment[0];
    return rc < 0 ? rc : gw_tls_secret_random(ring.key);
}

static int ring_open_rank(int handle, int rank, int ranks, uint64_t timeout_ns,
                          struct gw_comm **comm)
{
    int host = 0;
    struct gw_error error;
    while (ring.first[host + 1] <= rank)
        host++;
    const struct gw_comm_hosts_options options = GW_INIT(
        gw_comm_hosts_options, .fd = ring.segment[host], .rank = rank, .ranks = ranks,
        .first_rank = ring.first[host], .local_ranks = ring.first[host + 1] - ring.first[host],
        .attempt = 7, .endpoint = ring.endpoint, .listener = ring.listener,
        .key = ranks % 2 ? ring.key : NULL, .timeout_ns = 60000000000);
    int rc = gw_comm_open_hosts(&options, comm, &error);
    if (rc == 0)
        gw_comm_set_timeout(*comm, timeout_ns);
    else
        (void)fprintf(stderr, "rank %d: %s\n", rank, error.text);
    return rc;
}

/* Aborts from outside, as the worker of a host does: the last host, so that the abort must pass the
 * ring. */
static int ring_abort(int handle, int cause, int rank)
{
    return gw_comm_segment_abort(ring.segment[ring.hosts - 1], cause, rank, NULL);
}

static void ring_destroy(int handle)
{
    for (int i = 0; i < ring.hosts; i++)
        close(ring.segment[i]);
    close(ring.listener);
}

static void ring_copy(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
}

const struct comm_backend_hooks comm_ring_hooks = {
    .name = "ring",
    .create = ring_create,
    .open = ring_open_rank,
    .abort = ring_abort,
    .destroy = ring_destroy,
    .copy = ring_copy,
    .ranks_max = 5,
    .has_threads = true,
    .has_hosts = true,
};
