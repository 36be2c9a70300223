/* What comm.c and all backends share: names of operations, the common fields of a communicator, and
 * its pulse. */
#include "gpu/base/comm_backend.h"

#include <gangway/comm.h>

static const char *const verb_names[] = {
    [GW_COMM_BARRIER] = "barrier",
    [GW_COMM_ALL_REDUCE] = "all_reduce",
    [GW_COMM_BROADCAST] = "broadcast",
    [GW_COMM_ALL_GATHER] = "all_gather",
    [GW_COMM_REDUCE_SCATTER] = "reduce_scatter",
    [GW_COMM_SEND] = "send",
    [GW_COMM_RECV] = "recv",
    [GW_COMM_ALLOC] = "alloc",
    [GW_COMM_WAIT] = "wait",
    [GW_COMM_GROUP] = "group",
    [GW_COMM_SPLIT] = "split",
    [GW_COMM_JOIN] = "join",
};

const char *gw_comm_backend_verb_name(enum gw_comm_verb verb)
{
    return (int)verb >= GW_COMM_BARRIER && (int)verb <= GW_COMM_JOIN ? verb_names[verb] : "?";
}

void gw_comm_backend_init(struct gw_comm *comm, const struct gw_comm_backend *backend, int rank,
                          int size)
{
    comm->backend = backend;
    comm->rank = rank;
    comm->size = size;
    comm->timeout_ns = GW_COMM_TIMEOUT_DEFAULT_NS;
    comm->pulse = NULL;
    comm->group = NULL;
    comm->agreed = 0;
}

void gw_comm_backend_begin(const struct gw_comm *comm, enum gw_comm_verb verb)
{
    struct gw_comm_pulse *pulse = comm->pulse;
    if (!pulse)
        return;
    uint64_t begun = atomic_load_explicit(&pulse->begun, memory_order_relaxed);
    atomic_store_explicit(&pulse->verb, (uint32_t)verb, memory_order_relaxed);
    atomic_store_explicit(&pulse->begun, begun + 1, memory_order_release);
}

void gw_comm_backend_end(const struct gw_comm *comm)
{
    if (comm->pulse)
        atomic_store_explicit(&comm->pulse->verb, 0, memory_order_release);
}

void gw_comm_set_timeout(struct gw_comm *comm, uint64_t timeout_ns)
{
    comm->timeout_ns = timeout_ns ? timeout_ns : GW_COMM_TIMEOUT_DEFAULT_NS;
}

void gw_comm_abort(struct gw_comm *comm, int cause, int rank)
{
    comm->backend->abort(comm, cause, rank);
}
