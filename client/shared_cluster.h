/* This user's shared cluster, which `gangway up` starts. */
#ifndef GW_CLIENT_SHARED_CLUSTER_H
#define GW_CLIENT_SHARED_CLUSTER_H

#include "client/deploy/cluster.h"

/* gw_shared_cluster_up starts this user's shared cluster, which outlives this process. *pid is the
 * process id of its scheduler. GW_EEXIST: a cluster is already running. If it returns 0,
 * error->text is "" or a warning. */
int gw_shared_cluster_up(const struct gw_cluster_options *options, pid_t *pid,
                         struct gw_error *error);

#endif
