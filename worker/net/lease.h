/* Leases: for each gang that rank 0 leads here, the segment of its collectives and a port. */
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

/* gw_lease_open makes a segment for `ranks` (its descriptor is the caller's) and keeps a port of
 * the loopback address for the attempt: a number that no other process is given meanwhile. GW_EIO,
 * GW_EINVAL (too many ranks) with text. */
int gw_lease_open(struct gw_leases *leases, uint64_t attempt, uint32_t ranks, int *segment_fd,
                  uint16_t *port, struct gw_error *error);

/* gw_lease_close lets the attempt's port go (nothing: there is none); gw_lease_deinit all. */
void gw_lease_close(struct gw_leases *leases, uint64_t attempt);
void gw_lease_deinit(struct gw_leases *leases);

#endif
