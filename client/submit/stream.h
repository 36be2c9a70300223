/* Streams: see <gangway/stream.h>. */
#ifndef GW_CLIENT_STREAM_H
#define GW_CLIENT_STREAM_H

#include "client/link/client.h"

/* gw_stream_warn logs a warning for each of the latest closed streams of a client that has
 * unfinished tasks: gw_client_close cancels them. It asks the scheduler. */
void gw_stream_warn(struct gw_client *client);

#endif
