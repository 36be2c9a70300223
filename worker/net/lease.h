/* Leases: for each gang that rank 0 leads here, the segment of its collectives, a port, and where
 * the gang stands at several workers the door of their ring. */
#ifndef GW_NET_LEASE_H
#define GW_NET_LEASE_H

#include "graph/base/array.h"

#include <gangway/error.h>
#include <stdint.h>

struct gw_leases {
    GW_ARRAY(struct gw_lease {
        uint64_t attempt;
        int fd;
    })
    list;
};

/* What a gang gets. */
struct gw_leased {
    int segment_fd;       /* the caller's */
    uint16_t port;        /* 0: this worker does not lead */
    int listener_fd;      /* the caller's; -1: the gang stands at one worker */
    uint16_t ring_port;   /* where that listens */
    uint8_t ring_key[32]; /* for who comes there */
};

/* gw_lease_open makes a segment for `ranks`. Where this worker leads (`groups` > 0) it keeps a port
 * of this address for the attempt, a number that no other process is given meanwhile; for
 * `groups` > 1 it also listens for ranks of other workers. GW_EIO, GW_EINVAL (too many ranks) with
 * text. */
struct gw_lease_what {
    uint64_t attempt;
    uint32_t ranks;
    uint32_t groups;
    const char *address; /* without a port, numeric */
};
int gw_lease_open(struct gw_leases *leases, const struct gw_lease_what *what,
                  struct gw_leased *leased, struct gw_error *error);

/* gw_lease_close lets the attempt's port go (nothing: there is none); gw_lease_deinit all. */
void gw_lease_close(struct gw_leases *leases, uint64_t attempt);
void gw_lease_deinit(struct gw_leases *leases);

#endif
