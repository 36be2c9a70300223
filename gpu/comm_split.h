/* Parts of a communicator of the host backend. */
#ifndef GW_GPU_COMM_SPLIT_H
#define GW_GPU_COMM_SPLIT_H

#include "gpu/comm_backend.h"
#include "gpu/ring_link.h"

/* What a backend says about itself. */
struct gw_comm_split_site {
    struct gw_comm *comm;
    struct gw_segment *segment;        /* of this host */
    int hosts;                         /* 1: the rest is not read */
    const int *first;                  /* every host's first rank */
    const struct gw_ring_trust *trust; /* of the connections */
    const char *endpoint;              /* of this rank */
    uint64_t *splits;                  /* how many were made before this one */
};

/* gw_comm_split_host keeps the contract of gw_comm_split for ranks that are seen like that. */
int gw_comm_split_host(const struct gw_comm_split_site *site, const struct gw_comm_split *split,
                       struct gw_comm **child, struct gw_error *error);

#endif
