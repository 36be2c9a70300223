/* What the core decided. */
#ifndef GW_NET_EFFECTS_H
#define GW_NET_EFFECTS_H

#include "worker/net/link/state.h"

/* gw_effects_execute executes the effects of a step that was made at now_ns. */
void gw_effects_execute(struct gw_host *host, uint64_t now_ns);

#endif
