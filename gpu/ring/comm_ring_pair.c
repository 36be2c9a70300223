/* Messages between two ranks. Two ranks of one host use their segment. Other pairs use a link for
 * each direction, which the sender opens at its first message. */
#include "gpu/ring/comm_ring.h"

#include <string.h>

/* The header of each message. */
struct letter {
    struct gw_segment_call call;
};

static bool is_here(const struct gw_comm_ring *self, int rank)
{
    return rank >= self->first_rank && rank < self->first_rank + self->local->comm.size;
}

static int here(struct gw_comm_ring *self, enum gw_comm_verb verb, const struct gw_comm_args *args,
                struct gw_error *error)
{
    struct gw_comm_args local = *args;
    local.root -= self->first_rank;
    return gw_comm_ring_local(self, verb, &local, error);
}

static struct gw_segment_call call_of(enum gw_comm_verb verb, const struct gw_comm_args *args)
{
    return (struct gw_segment_call){
        .verb = (uint32_t)verb, .dtype = (uint32_t)args->dtype, .count = args->count};
}

static int link_to(struct gw_comm_ring *self, int rank, struct gw_error *error)
{
    const struct gw_ring_wait wait = gw_comm_ring_wait(self);
    const struct gw_ring_call call = {.endpoint = self->places[rank].endpoint,
                                      .trust = &self->trust,
                                      .purpose = GW_RING_PAIR,
                                      .from = self->comm.rank,
                                      .to = rank};
    return self->to[rank] ? 0 : gw_ring_link_connect(&call, &wait, &self->to[rank], error);
}

int gw_comm_ring_pair_send(struct gw_comm_ring *self, const struct gw_comm_args *args,
                           struct gw_error *error)
{
    const int to = args->root;
    if (is_here(self, to))
        return here(self, GW_COMM_SEND, args, error);
    const struct gw_ring_wait wait = gw_comm_ring_wait(self);
    struct letter letter = {call_of(GW_COMM_SEND, args)};
    const struct gw_ring_bytes head = {&letter, sizeof letter};
    /* The cast removes const, but the link only reads from this buffer. */
    const struct gw_ring_bytes body = {(void *)(uintptr_t)args->send,
                                       args->count * gw_dtype_size(args->dtype)};
    int rc = link_to(self, to, error);
    if (rc == 0)
        rc = gw_ring_link_send(self->to[to], &head, &wait, error);
    if (rc == 0)
        rc = gw_ring_link_send(self->to[to], &body, &wait, error);
    return rc < 0 ? gw_comm_ring_failed(self, rc, to, error) : 0;
}

static int link_from(struct gw_comm_ring *self, int rank, struct gw_error *error)
{
    const struct gw_ring_wait wait = gw_comm_ring_wait(self);
    struct gw_ring_guest guest = {.purpose = GW_RING_PAIR, .from = rank};
    if (self->from[rank])
        return 0;
    int rc = gw_ring_door_take(self->door, &guest, &wait, error);
    if (rc < 0)
        return rc;
    self->from[rank] = guest.link;
    return gw_ring_link_welcome(guest.link, &wait, error);
}

int gw_comm_ring_pair_recv(struct gw_comm_ring *self, const struct gw_comm_args *args,
                           struct gw_error *error)
{
    const int from = args->root;
    if (is_here(self, from))
        return here(self, GW_COMM_RECV, args, error);
    const struct gw_ring_wait wait = gw_comm_ring_wait(self);
    const struct gw_segment_call wanted = call_of(GW_COMM_RECV, args);
    struct letter letter;
    const struct gw_ring_bytes head = {&letter, sizeof letter};
    const struct gw_ring_bytes body = {args->recv, args->count * gw_dtype_size(args->dtype)};
    int rc = link_from(self, from, error);
    if (rc == 0)
        rc = gw_ring_link_receive(self->from[from], &head, &wait, error);
    if (rc == 0 && (letter.call.dtype != wanted.dtype || letter.call.count != wanted.count))
        return gw_comm_host_mismatch(self->local, (const int[]){from, self->comm.rank},
                                     (const struct gw_segment_call *const[]){&letter.call, &wanted},
                                     error);
    if (rc == 0)
        rc = gw_ring_link_receive(self->from[from], &body, &wait, error);
    return rc < 0 ? gw_comm_ring_failed(self, rc, from, error) : 0;
}
