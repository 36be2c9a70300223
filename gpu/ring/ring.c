/* Moves the data of a flow.
 *
 * Byte ahead_bytes + n of the outgoing data is byte head_bytes + n of the incoming data after its
 * reduction. So there are no rounds: each byte is sent as soon as it is ready. */
#include "gpu/ring/ring.h"

#include "gpu/base/reduce.h"
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Maximum to write or read before the other direction gets a turn. Without this limit all hosts
     * would first fill their socket buffers and then all read, so only one direction of the network
     * would be busy at a time. */
    TURN_BYTES = 256 << 10,
    STALL_S = 1, /* if nothing moves for this long, a rank that has closed counts as the cause */
};

struct run {
    struct gw_ring *ring;
    const struct gw_ring_flow *flow;
    const struct gw_ring_wait *wait;
    struct gw_error *error;
    size_t out_part, out_at, out_left; /* out_left: bytes left in all parts */
    size_t in_part, in_at;             /* in_at: bytes of this part that are done */
    size_t in_done;                    /* bytes of all parts, including the head */
    size_t staged; /* bytes in the stage; between two reads less than an element */
    uint64_t moved_ns;
};

int gw_ring_init(struct gw_ring *ring)
{
    atomic_init(&ring->closed, -1);
    ring->stage = aligned_alloc(64, TURN_BYTES);
    return ring->stage ? 0 : GW_ENOMEM;
}

void gw_ring_deinit(struct gw_ring *ring)
{
    if (ring->next)
        ring->next->free(ring->next);
    if (ring->prev)
        ring->prev->free(ring->prev);
    free(ring->stage);
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns how many of the remaining bytes can be sent now. */
static size_t out_ready(const struct run *run)
{
    const struct gw_ring_flow *flow = run->flow;
    size_t in = run->in_done > flow->head_bytes ? run->in_done - flow->head_bytes : 0;
    size_t total = 0, before = 0;
    for (size_t i = 0; i < run->out_part; i++)
        before += flow->out[i].bytes;
    before += run->out_at;
    total = before + run->out_left;
    const size_t limit = min_size(total, flow->ahead_bytes + in);
    return limit - before;
}

/* Sends up to TURN_BYTES. Returns 1 if bytes were sent, 0 if none, or an error. */
static int push(struct run *run)
{
    struct gw_transport *link = run->ring->next;
    size_t ready = min_size(out_ready(run), TURN_BYTES), wrote = 0;
    int moved = 0, rc = 0;
    while (ready > 0 && rc == 0) {
        const struct gw_ring_part *part = &run->flow->out[run->out_part];
        if (run->out_at == part->bytes) {
            run->out_part++;
            run->out_at = 0;
            continue;
        }
        rc = link->write(link, (const char *)part->data + run->out_at,
                         min_size(ready, part->bytes - run->out_at), &wrote, run->error);
        if (rc < 0)
            break;
        run->out_at += wrote;
        run->out_left -= wrote;
        ready -= wrote;
        moved = 1;
    }
    if (rc == 0 || rc == GW_EAGAIN)
        rc = link->flush(link, run->error);
    return rc < 0 && rc != GW_EAGAIN ? rc : moved;
}

static void reduce_staged(struct run *run, const struct gw_ring_part *part)
{
    const size_t element = gw_dtype_size(run->flow->dtype);
    const size_t count = run->staged / element;
    void *own = (char *)part->data + run->in_at;
    gw_reduce_run(&(const struct gw_reduction){
        .dtype = run->flow->dtype,
        .reduce = part->is_average ? GW_REDUCE_AVG : run->flow->reduce,
        .divisor = run->flow->divisor,
        .sources = 2,
        .source = (const void *const[]){run->ring->stage, own},
        .targets = 1,
        .target = (void *const[]){own},
        .count = count,
    });
    run->in_at += count * element;
    run->in_done += count * element;
    run->staged -= count * element;
    memmove(run->ring->stage, run->ring->stage + count * element, run->staged);
}

/* Receives into a part. Returns 0 or an error, which may be GW_EAGAIN. */
static int pull_part(struct run *run, const struct gw_ring_part *part)
{
    struct gw_transport *link = run->ring->prev;
    const size_t left = part->bytes - run->in_at;
    size_t got = 0;
    int rc;
    if (part->reduces) {
        rc = link->read(link, run->ring->stage + run->staged,
                        min_size(left, TURN_BYTES) - run->staged, &got, run->error);
        if (rc < 0)
            return rc;
        run->staged += got;
        reduce_staged(run, part);
        return 0;
    }
    rc = link->read(link, (char *)part->data + run->in_at, min_size(left, TURN_BYTES), &got,
                    run->error);
    if (rc < 0)
        return rc;
    run->in_at += got;
    run->in_done += got;
    return 0;
}

/* Reads once from the connection to the previous host. Returns 1 if bytes arrived, 0 if none did,
 * or an error. */
static int pull(struct run *run)
{
    const struct gw_ring_flow *flow = run->flow;
    while (run->in_part < flow->ins && run->in_at == flow->in[run->in_part].bytes) {
        run->in_part++;
        run->in_at = 0;
    }
    if (run->in_part == flow->ins)
        return 0;
    const struct gw_ring_part *part = &flow->in[run->in_part];
    int rc = pull_part(run, part);
    if (rc < 0)
        return rc == GW_EAGAIN ? 0 : rc;
    if (run->in_part == 0 && flow->head_bytes && run->in_at == part->bytes &&
        memcmp(part->data, flow->out[0].data, part->bytes) != 0)
        return GW_EMISMATCH;
    return 1;
}

static bool is_done(const struct run *run, size_t in_total)
{
    return run->in_done == in_total && run->out_left == 0 &&
           !run->ring->next->blocked(run->ring->next);
}

/* Waits for the sockets if nothing has moved for a while. Returns an error if the ring waits for a
 * rank that has closed. */
static int rest(struct run *run, size_t in_total)
{
    struct gw_ring *ring = run->ring;
    const uint64_t now_ns = gw_segment_now_ns();
    if (now_ns - run->moved_ns < ring->spin_ns)
        return 0;
    if (now_ns - run->moved_ns > (uint64_t)STALL_S * 1000000000 && atomic_load(&ring->closed) >= 0)
        return gw_error_set(run->error, GW_ECLOSED, "a rank has closed its communicator");
    struct pollfd fds[2];
    size_t count = 0;
    if (run->in_done < in_total)
        fds[count++] = (struct pollfd){.fd = ring->prev->fd, .events = POLLIN};
    if (out_ready(run) > 0 || ring->next->blocked(ring->next))
        fds[count++] = (struct pollfd){.fd = ring->next->fd, .events = POLLOUT};
    return gw_ring_link_pause(fds, count, run->wait, run->error);
}

int gw_ring_run(struct gw_ring *ring, const struct gw_ring_flow *flow,
                const struct gw_ring_wait *wait, struct gw_error *error)
{
    struct run run = {
        .ring = ring, .flow = flow, .wait = wait, .error = error, .moved_ns = gw_segment_now_ns()};
    size_t in_total = 0;
    for (size_t i = 0; i < flow->outs; i++)
        run.out_left += flow->out[i].bytes;
    for (size_t i = 0; i < flow->ins; i++)
        in_total += flow->in[i].bytes;
    while (!is_done(&run, in_total)) {
        int pushed = push(&run);
        if (pushed < 0)
            return pushed;
        int pulled = pull(&run);
        if (pulled < 0)
            return pulled;
        if (pushed || pulled) {
            run.moved_ns = gw_segment_now_ns();
            continue;
        }
        int rc = rest(&run, in_total);
        if (rc < 0)
            return rc;
    }
    return 0;
}
