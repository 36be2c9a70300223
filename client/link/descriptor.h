/* The descriptor through which an event loop drives a client. */
#ifndef GW_CLIENT_DESCRIPTOR_H
#define GW_CLIENT_DESCRIPTOR_H

#include "client/link/client.h"

/* gw_descriptor_signal makes the client's descriptor readable, if the client has one. The client's
 * lock is held. It does not block. */
void gw_descriptor_signal(struct gw_client *client);

/* gw_descriptor_close closes the client's descriptor, if the client has one. The client's lock is
 * held. */
void gw_descriptor_close(struct gw_client *client);

#endif
