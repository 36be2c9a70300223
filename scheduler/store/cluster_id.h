/* The id of a cluster: jobs of one id are numbered once. */
#ifndef GW_SCHEDULER_STORE_CLUSTER_ID_H
#define GW_SCHEDULER_STORE_CLUSTER_ID_H

#include <gangway/error.h>

enum { GW_CLUSTER_ID_BYTES = 33 }; /* 32 hexadecimal digits and the end */

/* gw_cluster_id_make makes a new id. GW_EIO: there are no random numbers. */
int gw_cluster_id_make(char id[GW_CLUSTER_ID_BYTES], struct gw_error *error);

#endif
