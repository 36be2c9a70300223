/* Reconnect: if the TLS connection of a worker to its scheduler breaks or falls silent, the worker
 * opens another connection and continues on it. The core does not notice. See PROTOCOL.md, "A
 * connection is mended". */
#ifndef GW_NET_RECONNECT_H
#define GW_NET_RECONNECT_H

#include "graph/wire/backlog.h"
#include "graph/wire/intake.h"
#include "graph/wire/tls.h"

#include <uv.h>

struct gw_host;
struct gw_host_link;

/* gw_host_reconnect_init must be called at the start of a host and gw_host_reconnect_close at its
 * end. `gone` is called when the connection to the scheduler has ended for good.
 * gw_host_reconnect_deinit frees the rest after the loop has ended. */
void gw_host_reconnect_init(struct gw_host *host,
                            void (*gone)(struct gw_host_link *link, const struct gw_error *error));
void gw_host_reconnect_close(struct gw_host *host);
void gw_host_reconnect_deinit(struct gw_host *host);

/* gw_host_reconnect_on_message must see each message of the scheduler first. Returns GW_EEXIST if
 * the message was received before and must be dropped. Returns GW_EPROTO if the scheduler confirms
 * more messages than were sent. */
int gw_host_reconnect_on_message(struct gw_host *host, const struct gw_message *message);

/* gw_host_reconnect_on_broken handles the end of the connection to the scheduler. It returns true
 * if a reconnect is tried, so that no other code handles the end. gw_host_reconnect_give_up stops
 * the reconnect in a later turn of the loop. */
bool gw_host_reconnect_on_broken(struct gw_host *host, const struct gw_error *error);
void gw_host_reconnect_give_up(struct gw_host *host);

/* gw_host_reconnect_on_second handles messages on the second connection, which is to replace the
 * first. gw_host_reconnect_on_second_closed handles its end. */
void gw_host_reconnect_on_second(struct gw_host *host, const struct gw_message *message);
void gw_host_reconnect_on_second_closed(struct gw_host *host, const struct gw_error *error);

#endif
