/* Arriving results of ranges. */
#ifndef GW_CLIENT_RANGE_H
#define GW_CLIENT_RANGE_H

#include "client/link/client.h"

/* gw_range_done and gw_range_failed add arrived results to the queues of their ranges, and skip
 * tasks that do not belong to a range. The client's lock is held. */
void gw_range_done(struct gw_client *client, const struct gw_msg_done *done);
void gw_range_failed(struct gw_client *client, const struct gw_msg_failed *failed);

#endif
