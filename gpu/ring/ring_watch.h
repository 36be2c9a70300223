/* What the leaders of a communicator's hosts tell each other beside the data: why it broke, who has
 * closed, who is late. A star: every leader has a link to rank 0's, the hub.
 *
 * The watch is a thread of the leader, which ends with it. It breaks the host's segment with what
 * it hears, and tells what broke the segment here; so the first cause comes to every rank. */
#ifndef GW_GPU_RING_WATCH_H
#define GW_GPU_RING_WATCH_H

#include "gpu/ring/ring.h"

struct gw_ring_watch;

/* Who is at the other end of a control link: a leader. */
struct gw_ring_peer {
    struct gw_transport *link;
    int rank;
};

struct gw_ring_watch_options {
    const struct gw_segment *segment; /* of this host; borrowed */
    struct gw_ring *ring;             /* whose `closed` it writes */
    int rank;                         /* the leader's, which is the lowest of its host */
    int local_ranks;
    struct gw_ring_peer *peers; /* copied; the links are taken, also when it fails */
    int peers_count;
};

/* gw_ring_watch_open starts it: 0, GW_ENOMEM or GW_EIO with a text. */
int gw_ring_watch_open(const struct gw_ring_watch_options *options, struct gw_ring_watch **watch,
                       struct gw_error *error);

/* gw_ring_watch_close says goodbye to the others and ends the thread (NULL: nothing). */
void gw_ring_watch_close(struct gw_ring_watch *watch);

/* gw_ring_watch_entered counts that the leader goes into the ring once more. */
void gw_ring_watch_entered(struct gw_ring_watch *watch);

/* gw_ring_watch_late has the hub find out who keeps this rank waiting. The segment is broken with
 * that soon, or never: the caller waits for a moment. */
struct gw_ring_late {
    enum gw_comm_verb verb;
    uint64_t waited_ns;
    int suspect; /* a rank, where all others are as far as this one */
};
void gw_ring_watch_late(struct gw_ring_watch *watch, const struct gw_ring_late *late);

#endif
