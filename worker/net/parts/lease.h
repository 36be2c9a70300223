/* Leases: resources that a worker reserves for a gang. They are the shared memory segment of
 * collectives, the port of rank 0, the socket of the ring if the gang runs on several workers, a
 * port per rank, and for commands a Horovod rendezvous. */
#ifndef GW_NET_LEASE_H
#define GW_NET_LEASE_H

#include "graph/base/array.h"
#include "worker/net/parts/port.h"
#include "worker/net/parts/rendezvous.h"

#include <gangway/error.h>
#include <stdint.h>

struct gw_leases {
    uv_loop_t *loop; /* must be set before the first lease */
    GW_ARRAY(struct gw_lease {
        uint64_t attempt;
        struct gw_port port;
        struct gw_rendezvous *rendezvous; /* NULL: none */
        struct gw_port *doors;            /* ports of the ranks here; owned */
        uint32_t door_count;
        bool leads; /* `port` is open, since rank 0 is here */
    })
    list;
};

/* The resources of one gang. */
struct gw_leased {
    int segment_fd;           /* owned by the caller; -1: no collectives */
    uint16_t port;            /* 0: rank 0 is not on this worker */
    int listener_fd;          /* owned by the caller; -1: one worker only, or no collectives */
    uint16_t ring_port;       /* port of listener_fd */
    uint16_t rendezvous_port; /* 0: none */
    uint32_t *doors;          /* ports of the ranks here, owned by the caller; NULL: none */
    uint32_t door_count;
};

/* gw_lease_open creates a segment for `ranks` ranks if they use collectives. If rank 0 is on this
 * worker (`groups` > 0), it reserves a port that no other program gets meanwhile. For `groups` > 1
 * it also listens at `address` for the ring of ranks with collectives. It opens a rendezvous if
 * `rendezvous` is set. If `doors` is set, it also reserves a port for each of the ranks here.
 * Returns GW_EIO or GW_EINVAL (too many ranks) and sets the error. */
struct gw_lease_what {
    uint64_t attempt;
    uint32_t ranks;
    uint32_t groups;
    const char *address; /* numeric, without a port */
    bool collectives, rendezvous, doors;
};
int gw_lease_open(struct gw_leases *leases, const struct gw_lease_what *what,
                  struct gw_leased *leased, struct gw_error *error);

/* gw_lease_unbind frees the ports of an attempt, so that its ranks can bind them. gw_lease_close
 * ends the lease of an attempt, if there is one. gw_lease_deinit ends all. */
void gw_lease_unbind(struct gw_leases *leases, uint64_t attempt);
void gw_lease_close(struct gw_leases *leases, uint64_t attempt);
void gw_lease_deinit(struct gw_leases *leases);

/* gw_lease_is_taken returns true if another program has bound the port of an attempt whose rank 0
 * has ended. */
bool gw_lease_is_taken(struct gw_leases *leases, uint64_t attempt);

#endif
