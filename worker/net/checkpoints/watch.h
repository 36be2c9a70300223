/* Watches the checkpoint folders of commands, since commands do not report that they have saved a
 * checkpoint. */
#ifndef GW_NET_WATCH_H
#define GW_NET_WATCH_H

#include "graph/wire/step.h"

struct gw_host;
struct gw_watches;

/* gw_watches_new creates the table of watches of a host (borrowed). gw_watches_close frees it when
 * the work in progress has ended. */
struct gw_watches *gw_watches_new(struct gw_host *host);
void gw_watches_close(struct gw_watches *watches);

/* gw_watch_execute carries out the effects WATCH and UNWATCH. The event SAVED comes if a folder
 * differs from its state at the last SAVED (or at the WATCH) and has not changed between two
 * observations. It also comes if the folder keeps changing for too long (worker/store/sighting.h).
 */
void gw_watch_execute(struct gw_watches *watches, const struct gw_effect *effect);

#endif
