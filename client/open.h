/* The end of a client, for what opened it in a way of its own (nested.c). */
#ifndef GW_CLIENT_OPEN_H
#define GW_CLIENT_OPEN_H

#include "client/link/client.h"

/* gw_open_undo closes the connection and gives up the owner's reference; what it submitted is for
 * the scheduler to end. */
void gw_open_undo(struct gw_client *client);

#endif
