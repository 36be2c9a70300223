/* Makes ids of clusters. */
#include "scheduler/store/cluster_id.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

int gw_cluster_id_make(char id[GW_CLUSTER_ID_BYTES], struct gw_error *error)
{
    uint8_t bytes[(GW_CLUSTER_ID_BYTES - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return gw_error_set(
            error, GW_EIO,
            "the system gives no random numbers, which the id of the cluster needs: %s",
            strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}
