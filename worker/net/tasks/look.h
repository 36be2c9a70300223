/* Checks if a command can start on this host, before any rank of its gang starts. */
#ifndef GW_NET_LOOK_H
#define GW_NET_LOOK_H

#include "graph/wire/message.h"

#include <gangway/error.h>

struct gw_host;

/* gw_look_start checks on a thread if the folder and the program of a spawn message exist on this
 * host. The result comes later as the event LOOKED, with a text that says what is missing and what
 * to do. */
struct gw_effect;
void gw_look_start(struct gw_host *host, const struct gw_effect *effect);

#endif
