/* Looks whether a command can start on this host, before any rank of its gang does. */
#ifndef GW_NET_LOOK_H
#define GW_NET_LOOK_H

#include "graph/wire/message.h"

#include <gangway/error.h>

struct gw_host;

/* gw_look_start has a thread look whether what a spawn names is here: its folder and its program.
 * LOOKED comes later, with a text that says what is missing and what to do. */
struct gw_effect;
void gw_look_start(struct gw_host *host, const struct gw_effect *effect);

#endif
