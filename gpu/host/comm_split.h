/* gw_comm_split and gw_comm_multiply for communicators of the host backend. */
#ifndef GW_GPU_COMM_SPLIT_H
#define GW_GPU_COMM_SPLIT_H

#include "gpu/base/comm_backend.h"

/* What a backend passes about a communicator that is split, including the functions that open its
 * parts on one host or on several hosts. */
struct gw_comm_split_site {
    int (*open_host)(const struct gw_comm_host_options *options, struct gw_comm **comm,
                     struct gw_error *error);
    int (*open_hosts)(const struct gw_comm_hosts_options *options, struct gw_comm **comm,
                      struct gw_error *error);
    struct gw_comm *comm;
    struct gw_segment *segment; /* segment of this host */
    int hosts;                  /* number of hosts; 1: the fields below are not read */
    const int *first;           /* the first rank of each host */
    uint64_t attempt;           /* attempt number of the connections */
    const uint8_t *key;         /* TLS key of the connections; NULL: no TLS */
    const char *endpoint;       /* address of this rank */
    uint64_t *splits;           /* number of splits of this communicator so far */
};

/* gw_comm_split_host implements gw_comm_split for the communicator that `site` describes. */
int gw_comm_split_host(const struct gw_comm_split_site *site, const struct gw_comm_part *split,
                       struct gw_comm **child, struct gw_error *error);

/* gw_comm_split_multiply implements gw_comm_multiply. */
int gw_comm_split_multiply(const struct gw_comm_split_site *site, int each,
                           struct gw_comm **children, struct gw_error *error);

#endif
