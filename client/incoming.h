/* What a client does with what its scheduler says. */
#ifndef GW_CLIENT_INCOMING_H
#define GW_CLIENT_INCOMING_H

#include "client/link/client.h"

/* gw_incoming_open has a new client take what will come in; before gw_session_connect. */
void gw_incoming_open(struct gw_client *client);

#endif
