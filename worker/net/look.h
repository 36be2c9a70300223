/* Looks whether a command can start on this host, before any rank of its gang does. */
#ifndef GW_NET_LOOK_H
#define GW_NET_LOOK_H

#include "graph/wire/message.h"

#include <gangway/error.h>

struct gw_host;

/* gw_look_at tells whether what a spawn names is here: its folder and its program. GW_ENOENT or
 * GW_ESTART, with a text that says what is missing and what to do. It may block. */
int gw_look_at(const struct gw_msg_spawn *spawn, struct gw_error *error);

/* gw_look_start has that done on a thread for rank `rank` of an attempt; LOOKED comes later. */
struct gw_effect;
void gw_look_start(struct gw_host *host, const struct gw_effect *effect);

#endif
