/* Carries out the effects of the core. */
#ifndef GW_NET_EFFECTS_H
#define GW_NET_EFFECTS_H

#include "worker/net/link/state.h"

/* gw_effects_execute carries out the effects of the last step. now_ns is the time of that step. */
void gw_effects_execute(struct gw_host *host, uint64_t now_ns);

#endif
