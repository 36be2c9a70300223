/* Control messages among the leaders of a communicator's hosts: why the communicator broke, which
 * rank has closed, which rank is late. The connections form a star: every leader has a link to rank
 * 0, the hub.
 *
 * The watch is a thread of the leader. If a message reports a failure, it breaks the segment of
 * this host. If the segment of this host breaks, it reports the cause to the other hosts. So every
 * rank gets the first cause. */
#ifndef GW_GPU_RING_WATCH_H
#define GW_GPU_RING_WATCH_H

#include "gpu/ring/ring.h"

struct gw_ring_watch;

/* The leader at the other end of a control link. */
struct gw_ring_peer {
    struct gw_transport *link;
    int rank;
};

struct gw_ring_watch_options {
    const struct gw_segment *segment; /* segment of this host; borrowed */
    struct gw_ring *ring;             /* the watch writes its field `closed` */
    int rank;                         /* the leader's rank, which is the lowest of its host */
    int local_ranks;
    struct gw_ring_peer *peers; /* array is copied; links are taken over, also on error */
    int peers_count;
};

/* gw_ring_watch_open starts the thread. It returns 0, or GW_ENOMEM or GW_EIO with a text. */
int gw_ring_watch_open(const struct gw_ring_watch_options *options, struct gw_ring_watch **watch,
                       struct gw_error *error);

/* gw_ring_watch_close tells the other leaders that this rank closes, and ends the thread. NULL is
 * allowed. */
void gw_ring_watch_close(struct gw_ring_watch *watch);

/* gw_ring_watch_entered counts one more flow that the leader starts. */
void gw_ring_watch_entered(struct gw_ring_watch *watch);

/* gw_ring_watch_late makes the hub find out for which rank this rank waits. If the hub finds it,
 * the segment is broken soon after. If not, nothing happens. The caller therefore waits for a
 * limited time. */
struct gw_ring_late {
    enum gw_comm_verb verb;
    uint64_t waited_ns;
    int suspect; /* the rank to blame if all other ranks are as far as this one */
};
void gw_ring_watch_late(struct gw_ring_watch *watch, const struct gw_ring_late *late);

#endif
