/* The id of a cluster. Job ids are unique within one cluster id. */
#ifndef GW_SCHEDULER_STORE_CLUSTER_ID_H
#define GW_SCHEDULER_STORE_CLUSTER_ID_H

#include <gangway/error.h>

enum { GW_CLUSTER_ID_BYTES = 33 }; /* 32 hexadecimal digits and a zero byte */

/* gw_cluster_id_make makes a new id. Returns GW_EIO if the kernel provides no random numbers. */
int gw_cluster_id_make(char id[GW_CLUSTER_ID_BYTES], struct gw_error *error);

#endif
