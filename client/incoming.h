/* Handles the messages of the scheduler. */
#ifndef GW_CLIENT_INCOMING_H
#define GW_CLIENT_INCOMING_H

#include "client/link/client.h"

/* gw_incoming_open sets the callbacks of a new client. Call it before gw_session_connect. */
void gw_incoming_open(struct gw_client *client);

#endif
