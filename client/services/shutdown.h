/* Ends a cluster while the caller watches. */
#ifndef GW_CLIENT_SHUTDOWN_H
#define GW_CLIENT_SHUTDOWN_H

#include "client/link/client.h"

#define GW_SHUTDOWN_GRACE_NS_MAX (300 * GW_NS_PER_S)

struct gw_shutdown {
    uint64_t grace_ns_max; /* the longest grace time of running tasks, in nanoseconds, if their own
                              is longer; 0: no grace time */
    /* Called several times a second while the cluster ends. It may send requests to the cluster. If
     * it returns true, the cluster ends at once. May be NULL. */
    bool (*hurry)(struct gw_client *client, uint64_t waited_ns, void *arg);
    void *arg;
};

/* gw_shutdown_wait ends the cluster and blocks until it has ended. Errors: GW_EPERM, GW_ETIMEDOUT.
 */
int gw_shutdown_wait(struct gw_client *client, const struct gw_shutdown *shutdown,
                     struct gw_error *error);

#endif
