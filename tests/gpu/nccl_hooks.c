/* The NCCL backend for the conformance suite (tests/unit/test_comm.c): all ranks on GPU 0, each a
 * process that NCCL takes for a host of its own. NCCL refuses two ranks with one host and one
 * device; it reads the host's name from NCCL_HOSTID once a process. Times mean nothing this way. */
#include "tests/unit/gpu/comm_world.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct comm_backend_hooks comm_nccl_hooks;
int nccl_upgrade(struct gw_comm *host, int rank, uint64_t timeout_ns, struct gw_comm **comm);
void nccl_environment(int rank); /* of a process */

#ifndef NCCL_RANKS_MAX
#define NCCL_RANKS_MAX 4 /* contexts that share one GPU */
#endif

static int nccl_create(int ranks, int *handle)
{
    return gw_comm_segment_create(ranks, handle, NULL);
}

void nccl_environment(int rank)
{
    static const char *const pairs[][2] = {
        {"CUDA_VISIBLE_DEVICES", "0"}, {"NCCL_NET", "Socket"},    {"NCCL_SOCKET_IFNAME", "lo"},
        {"NCCL_IB_DISABLE", "1"},      {"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"},
        {"NCCL_MNNVL_ENABLE", "0"},    {"NCCL_NVLS_ENABLE", "0"}, {"NCCL_RAS_ENABLE", "0"},
        {"NCCL_MAX_CTAS", "2"},        {"NCCL_ALGO", "Ring"},     {"NCCL_PROTO", "Simple"},
    };
    char host[32];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        (void)setenv(pairs[i][0], pairs[i][1], 1);
    (void)snprintf(host, sizeof host, "gang-%d", rank);
    (void)setenv("NCCL_HOSTID", host, 1);
}

/* NCCL over what a world of hosts shares; those have a deadline of their own. */
int nccl_upgrade(struct gw_comm *host, int rank, uint64_t timeout_ns, struct gw_comm **comm)
{
    const struct gw_comm_nccl_options options =
        GW_INIT(gw_comm_nccl_options, .host = host, .timeout_ns = 120000000000);
    struct gw_error error;
    nccl_environment(rank);
    int rc = gw_comm_open_nccl(&options, comm, &error);
    if (rc < 0) {
        (void)fprintf(stderr, "rank %d: %s\n", rank, error.text);
        gw_comm_close(host);
    } else {
        gw_comm_set_timeout(*comm, timeout_ns);
    }
    return rc;
}

/* Joining takes seconds, and has a deadline of its own. */
static int nccl_open(int handle, int rank, int ranks, uint64_t timeout_ns, struct gw_comm **comm)
{
    const struct gw_comm_host_options options =
        GW_INIT(gw_comm_host_options, .fd = handle, .rank = rank, .ranks = ranks);
    struct gw_comm *host;
    int rc = gw_comm_open_host(&options, &host, NULL);
    return rc < 0 ? rc : nccl_upgrade(host, rank, timeout_ns, comm);
}

#ifdef NCCL_HOSTS /* the same across hosts, which comm_ring_world.c makes up */
static int hosts_create(int ranks, int *handle)
{
    return comm_ring_hooks.create(ranks, handle);
}

static int hosts_open(int handle, int rank, int ranks, uint64_t timeout_ns, struct gw_comm **comm)
{
    struct gw_comm *host;
    int rc = comm_ring_hooks.open(handle, rank, ranks, timeout_ns, &host);
    return rc < 0 ? rc : nccl_upgrade(host, rank, timeout_ns, comm);
}

static int hosts_abort(int handle, int cause, int rank)
{
    return comm_ring_hooks.abort(handle, cause, rank);
}

static void hosts_destroy(int handle)
{
    comm_ring_hooks.destroy(handle);
}
#endif

static int nccl_abort(int handle, int cause, int rank)
{
    return gw_comm_segment_abort(handle, cause, rank, NULL);
}

static void nccl_destroy(int handle)
{
    close(handle);
}

static void nccl_copy(void *to, const void *from, size_t bytes)
{
    if (bytes > 0 && cudaMemcpy(to, from, bytes, cudaMemcpyDefault) != cudaSuccess)
        abort();
}

const struct comm_backend_hooks comm_nccl_hooks = {
    .name = "nccl",
    .create = nccl_create,
    .open = nccl_open,
    .abort = nccl_abort,
    .destroy = nccl_destroy,
    .copy = nccl_copy,
    .ranks_max = NCCL_RANKS_MAX,
    .on_device = true,
};

#ifdef NCCL_HOSTS
extern const struct comm_backend_hooks comm_nccl_hosts_hooks;

const struct comm_backend_hooks comm_nccl_hosts_hooks = {
    .name = "nccl across hosts",
    .create = hosts_create,
    .open = hosts_open,
    .abort = hosts_abort,
    .destroy = hosts_destroy,
    .copy = nccl_copy,
    .ranks_max = NCCL_RANKS_MAX,
    .on_device = true,
    .has_hosts = true,
};
#endif
