/* What tells clusters apart: a number of its own for each state that jobs are counted in. */
#ifndef GW_SCHEDULER_NET_CLUSTER_ID_H
#define GW_SCHEDULER_NET_CLUSTER_ID_H

#include <gangway/error.h>
#include <stdbool.h>

enum { GW_CLUSTER_ID_BYTES = 33 }; /* 32 hexadecimal digits and the end */

/* gw_cluster_id_open gives the id of the state in folder `state` (NULL: of this life alone), and
 * makes one where there is none yet, or where the state begins anew (`fresh`), on disk when it
 * returns. GW_EIO with text. */
int gw_cluster_id_open(const char *state, bool fresh, char id[GW_CLUSTER_ID_BYTES],
                       struct gw_error *error);

#endif
