/* Steps of the host backend. The collectives, messages and memory allocation of the backend use
 * them. In a step each rank publishes its call and waits for the calls of all other ranks. */
#include "gpu/host/comm_host.h"

#include "gpu/base/reduce.h"
#include "graph/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

int gw_comm_host_begin(struct gw_comm_host *host, enum gw_comm_verb verb, struct gw_error *error)
{
    host->verb = verb;
    host->deadline_ns = gw_segment_now_ns() + host->comm.timeout_ns;
    if (host->deadline_ns < host->comm.timeout_ns) /* the sum overflowed: no deadline */
        host->deadline_ns = INT64_MAX;
    if (host->deadline_max_ns && host->deadline_ns > host->deadline_max_ns)
        host->deadline_ns = host->deadline_max_ns;
    return gw_segment_broken(host->segment, error);
}

static int host_break(struct gw_comm_host *host, int peer, int code, const char *what,
                      struct gw_error *error)
{
    char text[GW_SEGMENT_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%s: rank %d %s rank %d",
                   gw_comm_backend_verb_name(host->verb), host->first_rank + host->comm.rank, what,
                   host->first_rank + peer);
    const struct gw_segment_fault fault = {
        .code = code,
        .cause = code == GW_ETIMEDOUT ? GW_ETIMEDOUT : GW_ECLOSED,
        .rank = host->first_rank + peer,
        .text = text,
    };
    gw_segment_break(host->segment, &fault);
    return gw_segment_broken(host->segment, error);
}

int gw_comm_host_await(struct gw_comm_host *host, int peer, _Atomic uint32_t *word, uint32_t target,
                       struct gw_error *error)
{
    const struct gw_segment_wait wait = {
        .segment = host->segment,
        .self = host->comm.rank,
        .peer = peer,
        .word = word,
        .target = target,
        .spin_ns = host->spin_ns,
        .deadline_ns = host->deadline_ns,
    };
    char what[96], time[GW_TEXT_DURATION_ROOM];
    switch (gw_segment_wait(&wait)) {
    case GW_SEGMENT_REACHED:
        return 0;
    case GW_SEGMENT_BROKEN:
        return gw_segment_broken(host->segment, error);
    case GW_SEGMENT_LEFT:
        return host_break(host, peer, GW_EABORTED, "waits for the closed communicator of", error);
    case GW_SEGMENT_LATE:
        (void)snprintf(what, sizeof what, "waited %s for",
                       gw_text_duration(host->comm.timeout_ns, time));
        return host_break(host, peer, GW_ETIMEDOUT, what, error);
    }
    assert(!"all ways to wait are listed");
    return GW_EABORTED;
}

int gw_comm_host_step(struct gw_comm_host *host, const struct gw_segment_call *call,
                      struct gw_error *error)
{
    const int size = host->comm.size, rank = host->comm.rank;
    struct gw_segment_rank *self = gw_segment_rank(host->segment, rank);
    const uint32_t step = ++host->step;

    self->call[step & 1] = *call;
    atomic_store(&self->step, step);
    for (int i = 0; i < size; i++)
        if (i != rank)
            gw_segment_wake(host->segment, rank, i);
    for (int i = 1; i < size; i++) {
        int peer = (rank + i) % size;
        int rc = gw_comm_host_await(host, peer, &gw_segment_rank(host->segment, peer)->step, step,
                                    error);
        if (rc < 0)
            return rc;
    }
    return 0;
}

const struct gw_segment_call *gw_comm_host_call(const struct gw_comm_host *host, int rank)
{
    return &gw_segment_rank(host->segment, rank)->call[host->step & 1];
}

static void call_describe(const struct gw_segment_call *call, char *text, size_t size)
{
    const char *name = gw_comm_backend_verb_name((enum gw_comm_verb)call->verb);
    const char *dtype = gw_dtype_name((enum gw_dtype)call->dtype);
    const unsigned long long count = call->count;

    switch ((enum gw_comm_verb)call->verb) {
    case GW_COMM_BARRIER:
        (void)snprintf(text, size, "%s", name);
        return;
    case GW_COMM_ALLOC:
        (void)snprintf(text, size, "%s of %llu bytes (history %llx)", name, count,
                       (unsigned long long)call->agreed);
        return;
    case GW_COMM_ALL_REDUCE:
    case GW_COMM_REDUCE_SCATTER:
        (void)snprintf(text, size, "%s of %llu %s (%s)", name, count, dtype,
                       gw_reduce_name((enum gw_reduce)call->reduce));
        return;
    case GW_COMM_BROADCAST:
        (void)snprintf(text, size, "%s of %llu %s from rank %d", name, count, dtype, call->root);
        return;
    case GW_COMM_JOIN:
        (void)snprintf(text, size, "the opening of another backend");
        return;
    case GW_COMM_ALL_GATHER:
    case GW_COMM_SEND:
    case GW_COMM_RECV:
    case GW_COMM_WAIT:
    case GW_COMM_GROUP:
    case GW_COMM_SPLIT:
        break;
    }
    (void)snprintf(text, size, "%s of %llu %s", name, count, dtype);
}

int gw_comm_host_mismatch(struct gw_comm_host *host, const int ranks[2],
                          const struct gw_segment_call *const calls[2], struct gw_error *error)
{
    char one[112], other[112], text[GW_SEGMENT_TEXT_MAX];
    call_describe(calls[0], one, sizeof one);
    call_describe(calls[1], other, sizeof other);
    (void)snprintf(text, sizeof text, "ranks disagree: rank %d called %s, rank %d called %s",
                   ranks[0], one, ranks[1], other);
    const struct gw_segment_fault fault = {
        .code = GW_EMISMATCH, .cause = GW_EMISMATCH, .rank = ranks[1], .text = text};
    gw_segment_break(host->segment, &fault);
    return gw_segment_broken(host->segment, error);
}

int gw_comm_host_agree(struct gw_comm_host *host, struct gw_error *error)
{
    const struct gw_segment_call *first = gw_comm_host_call(host, 0);
    for (int i = 1; i < host->comm.size; i++) {
        const struct gw_segment_call *call = gw_comm_host_call(host, i);
        if (memcmp(first, call, offsetof(struct gw_segment_call, send_at)) != 0)
            return gw_comm_host_mismatch(
                host, (const int[]){host->first_rank, host->first_rank + i},
                (const struct gw_segment_call *const[]){first, call}, error);
    }
    return 0;
}
