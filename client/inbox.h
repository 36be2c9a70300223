/* The inbox: what a client does with what its scheduler says. */
#ifndef GW_CLIENT_INBOX_H
#define GW_CLIENT_INBOX_H

#include "client/client.h"

/* gw_inbox_open has a new client take what will come in; before gw_session_connect. */
void gw_inbox_open(struct gw_client *client);

#endif
