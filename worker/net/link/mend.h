/* Mending: a worker's TLS connection to its scheduler that breaks, or falls silent, goes on by
 * another one, and the core notices nothing. See PROTOCOL.md, "A connection is mended". */
#ifndef GW_NET_MEND_H
#define GW_NET_MEND_H

#include "graph/wire/backlog.h"
#include "graph/wire/intake.h"
#include "graph/wire/tls.h"

#include <uv.h>

struct gw_host;
struct gw_host_link;

/* gw_mend_init and gw_mend_close frame the life of a host; `gone` is told when the connection of
 * the scheduler is over for good; gw_mend_deinit frees when the loop has run empty. */
void gw_mend_init(struct gw_host *host,
                  void (*gone)(struct gw_host_link *link, const struct gw_error *error));
void gw_mend_close(struct gw_host *host);
void gw_mend_deinit(struct gw_host *host);

/* gw_mend_on_message sees what the scheduler says on its link, before anybody else. GW_EEXIST: it
 * was taken before, and is to be dropped; GW_EPROTO where it has taken more than was sent. */
int gw_mend_on_message(struct gw_host *host, const struct gw_message *message);

/* gw_mend_on_broken is told that the scheduler's link closed: true where it is to be mended, and
 * nobody else need know. gw_mend_give_up ends that, in a later turn. */
bool gw_mend_on_broken(struct gw_host *host, const struct gw_error *error);
void gw_mend_give_up(struct gw_host *host);

/* gw_mend_on_second is told what comes on the second link, and gw_mend_on_second_closed that it
 * closed. */
void gw_mend_on_second(struct gw_host *host, const struct gw_message *message);
void gw_mend_on_second_closed(struct gw_host *host, const struct gw_error *error);

#endif
