/* The end of a client, for use by nested.c too. */
#ifndef GW_CLIENT_OPEN_H
#define GW_CLIENT_OPEN_H

#include "client/link/client.h"

/* gw_open_undo closes the connection and drops the owner's reference. It does not cancel submitted
 * work: the scheduler does that. */
void gw_open_undo(struct gw_client *client);

#endif
