/* The inside of a stream: one job on its way, graph by graph. */
#ifndef GW_CLIENT_STREAM_H
#define GW_CLIENT_STREAM_H

#include "client/client.h"

/* gw_stream_opened takes the answer to a stream's first chunk; gw_stream_part gives the bundle that
 * has a row's future, if any; gw_stream_part_gone forgets a bundle. The client's lock is held. */
void gw_stream_opened(struct gw_client *client, const struct gw_msg_opened *opened);
struct gw_bundle *gw_stream_part(struct gw_client *client, uint64_t request, uint32_t row);
void gw_stream_part_gone(struct gw_bundle *bundle);

/* gw_stream_unref gives up a reference: its owner's, or a bundle's. The lock is not held. */
void gw_stream_unref(struct gw_stream *stream);

#endif
