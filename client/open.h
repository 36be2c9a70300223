/* The end of a client, for what opened it in a way of its own (nested.c). */
#ifndef GW_CLIENT_OPEN_H
#define GW_CLIENT_OPEN_H

#include "client/link/client.h"

/* gw_client_end closes the connection and gives up the owner's reference; what it submitted is for
 * the scheduler to end. */
void gw_client_end(struct gw_client *client);

#endif
