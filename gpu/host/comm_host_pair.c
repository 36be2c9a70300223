/* Messages between two ranks of the host backend. A message is sent in pieces through the channel's
 * two mailboxes. A message in memory of gw_comm_alloc is sent as a single piece that holds only its
 * place in the file; the sender waits until the receiver has copied the data. */
#include "gpu/host/comm_host.h"

#include <string.h>

enum { DIRECT_BYTES_MIN = GW_SEGMENT_MAIL_BYTES };

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Publishes piece `sent + 1`. Its call and its data were written before. */
static void channel_push(struct gw_comm_host *host, struct gw_segment_channel *channel, int to)
{
    atomic_store(&channel->sent, atomic_load(&channel->sent) + 1);
    gw_segment_wake(host->segment, host->comm.rank, to);
}

int gw_comm_host_pair_send(struct gw_comm_host *host, const struct gw_comm_args *args,
                           struct gw_error *error)
{
    const int self = host->comm.rank, to = args->root;
    struct gw_segment_channel *channel = gw_segment_channel(host->segment, self, to);
    const size_t bytes = args->count * gw_dtype_size(args->dtype);
    const uint64_t where = bytes > DIRECT_BYTES_MIN
                               ? gw_comm_host_memory_where(host, args->send, bytes)
                               : GW_SEGMENT_NOWHERE;
    const bool direct = where != GW_SEGMENT_NOWHERE;
    const struct gw_segment_call call = {
        .verb = GW_COMM_SEND,
        .dtype = (uint32_t)args->dtype,
        .count = args->count,
        .send_at = where,
        .recv_at = GW_SEGMENT_NOWHERE,
    };

    size_t at = 0;
    do { /* an empty message is sent as one piece without data */
        const uint32_t piece = atomic_load(&channel->sent);
        int rc = gw_comm_host_await(host, to, &channel->received, piece - 1, error);
        if (rc < 0)
            return rc;
        const size_t part = direct ? bytes : min_size(bytes - at, GW_SEGMENT_MAIL_BYTES);
        channel->call[piece & 1] = call;
        if (!direct && part > 0)
            memcpy(gw_segment_mail(host->segment, self, to, piece), (const char *)args->send + at,
                   part);
        channel_push(host, channel, to);
        at += part;
    } while (at < bytes);
    return direct ? gw_comm_host_await(host, to, &channel->received, atomic_load(&channel->sent),
                                       error)
                  : 0;
}

int gw_comm_host_pair_recv(struct gw_comm_host *host, const struct gw_comm_args *args,
                           struct gw_error *error)
{
    const int self = host->comm.rank, from = args->root;
    struct gw_segment_channel *channel = gw_segment_channel(host->segment, from, self);
    const size_t bytes = args->count * gw_dtype_size(args->dtype);
    const struct gw_segment_call wanted = {
        .verb = GW_COMM_RECV, .dtype = (uint32_t)args->dtype, .count = args->count};

    size_t at = 0;
    do {
        const uint32_t piece = atomic_load(&channel->received);
        int rc = gw_comm_host_await(host, from, &channel->sent, piece + 1, error);
        if (rc < 0)
            return rc;
        const struct gw_segment_call *call = &channel->call[piece & 1];
        if (call->dtype != wanted.dtype || call->count != wanted.count)
            return gw_comm_host_mismatch(
                host, (const int[]){host->first_rank + from, host->first_rank + self},
                (const struct gw_segment_call *const[]){call, &wanted}, error);
        const void *source = gw_comm_host_memory_at(host, call->send_at, bytes);
        const size_t part = source ? bytes : min_size(bytes - at, GW_SEGMENT_MAIL_BYTES);
        if (part > 0)
            memcpy((char *)args->recv + at,
                   source ? source : gw_segment_mail(host->segment, from, self, piece), part);
        atomic_store(&channel->received, piece + 1);
        gw_segment_wake(host->segment, self, from);
        at += part;
    } while (at < bytes);
    return 0;
}
