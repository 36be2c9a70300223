/* The inside of a range's run: results that came in, until they are taken. */
#ifndef GW_CLIENT_RANGE_H
#define GW_CLIENT_RANGE_H

#include "client/link/client.h"

/* gw_range_done and gw_range_failed bring in results of ranges; rows of others are skipped. The
 * client's lock is held. */
void gw_range_done(struct gw_client *client, const struct gw_msg_done *done);
void gw_range_failed(struct gw_client *client, const struct gw_msg_failed *failed);

#endif
