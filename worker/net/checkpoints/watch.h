/* Watches: folders of checkpoints of commands, which say of none that they have saved one. */
#ifndef GW_NET_WATCH_H
#define GW_NET_WATCH_H

#include "graph/wire/step.h"

struct gw_host;
struct gw_watches;

/* gw_watches_new makes the table of a host, which it borrows; gw_watches_close frees it when what
 * is under way has ended. */
struct gw_watches *gw_watches_new(struct gw_host *host);
void gw_watches_close(struct gw_watches *watches);

/* gw_watch_execute takes a WATCH or an UNWATCH. SAVED comes when a folder is not as it was at the
 * last SAVED, or at the WATCH, and has not changed from one look to the next, or has not stopped
 * changing for too long (worker/store/sighting.h). */
void gw_watch_execute(struct gw_watches *watches, const struct gw_effect *effect);

#endif
