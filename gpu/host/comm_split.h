/* Parts of a communicator of the host backend. */
#ifndef GW_GPU_COMM_SPLIT_H
#define GW_GPU_COMM_SPLIT_H

#include "gpu/base/comm_backend.h"

/* What a backend says about itself: also how parts of it are opened, on one host or several. */
struct gw_comm_split_site {
    int (*open_host)(const struct gw_comm_host_options *options, struct gw_comm **comm,
                     struct gw_error *error);
    int (*open_hosts)(const struct gw_comm_hosts_options *options, struct gw_comm **comm,
                      struct gw_error *error);
    struct gw_comm *comm;
    struct gw_segment *segment; /* of this host */
    int hosts;                  /* 1: the rest is not read */
    const int *first;           /* every host's first rank */
    uint64_t attempt;           /* of its connections */
    const uint8_t *key;         /* of their TLS; NULL: none */
    const char *endpoint;       /* of this rank */
    uint64_t *splits;           /* how many were made before this one */
};

/* gw_comm_split_host keeps the contract of gw_comm_split for ranks that are seen like that. */
int gw_comm_split_host(const struct gw_comm_split_site *site, const struct gw_comm_split *split,
                       struct gw_comm **child, struct gw_error *error);

#endif
