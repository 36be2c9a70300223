/* Ending a cluster, by somebody who watches it end. */
#ifndef GW_CLIENT_SHUTDOWN_H
#define GW_CLIENT_SHUTDOWN_H

#include "client/link/client.h"

#define GW_SHUTDOWN_GRACE_NS_MAX (300 * GW_NS_PER_S)

struct gw_shutdown {
    uint64_t grace_ns_max; /* what runs has its own grace to end in, but no more; 0: none */
    /* Asked several times a second while it lasts; true: it shall end at once. NULL: nobody looks.
     * It may ask the cluster things. */
    bool (*hurry)(struct gw_client *client, uint64_t waited_ns, void *arg);
    void *arg;
};

/* gw_shutdown_wait ends the cluster and blocks until it is gone. GW_EPERM, GW_ETIMEDOUT. */
int gw_shutdown_wait(struct gw_client *client, const struct gw_shutdown *shutdown,
                     struct gw_error *error);

#endif
