/* Leases: for each gang that rank 0 leads here, the segment of its collectives, a port, where the
 * gang stands at several workers the door of their ring, and for commands a rendezvous. */
#ifndef GW_NET_LEASE_H
#define GW_NET_LEASE_H

#include "graph/base/array.h"
#include "worker/net/parts/port.h"
#include "worker/net/parts/rendezvous.h"

#include <gangway/error.h>
#include <stdint.h>

struct gw_leases {
    uv_loop_t *loop; /* set before the first lease */
    GW_ARRAY(struct gw_lease {
        uint64_t attempt;
        struct gw_port port;
        struct gw_rendezvous *rendezvous; /* NULL: none */
        struct gw_port *doors;            /* of the ranks here; owned */
        uint32_t door_count;
        bool leads; /* port is one */
    })
    list;
};

/* What a gang gets. */
struct gw_leased {
    int segment_fd;           /* the caller's; -1: no collectives */
    uint16_t port;            /* 0: this worker does not lead */
    int listener_fd;          /* the caller's; -1: the gang stands at one worker,
                                 or has no collectives */
    uint16_t ring_port;       /* where that listens */
    uint16_t rendezvous_port; /* 0: none */
    uint32_t *doors;          /* ports of the ranks here, the caller's; NULL: none */
    uint32_t door_count;
};

/* gw_lease_open makes a segment for `ranks` that have collectives: those of functions. Where this
 * worker leads (`groups` > 0) it keeps a port for the attempt, a number that no other process is
 * given meanwhile; for `groups` > 1 it also listens at this address for the ring of ranks with
 * collectives, and for a rendezvous where that is asked for. doors: it also keeps a port for each
 * of `ranks`, leading or not.
 * GW_EIO, GW_EINVAL (too many ranks) with text. */
struct gw_lease_what {
    uint64_t attempt;
    uint32_t ranks;
    uint32_t groups;
    const char *address; /* without a port, numeric */
    bool collectives, rendezvous, doors;
};
int gw_lease_open(struct gw_leases *leases, const struct gw_lease_what *what,
                  struct gw_leased *leased, struct gw_error *error);

/* gw_lease_unbind lets the attempt's ranks bind their ports; gw_lease_close ends the lease
 * (nothing: there is none); gw_lease_deinit all. */
void gw_lease_unbind(struct gw_leases *leases, uint64_t attempt);
void gw_lease_close(struct gw_leases *leases, uint64_t attempt);
void gw_lease_deinit(struct gw_leases *leases);

/* gw_lease_is_taken tells, of an attempt whose rank 0 has ended, whether somebody has its port. */
bool gw_lease_is_taken(struct gw_leases *leases, uint64_t attempt);

#endif
