/* Copies that the scheduler wants here. */
#ifndef GW_WORKER_CORE_KEEP_H
#define GW_WORKER_CORE_KEEP_H

#include "worker/core/state.h"

void gw_keep_on_keep(struct gw_node_core *core, const struct gw_msg_keep *keep);
/* gw_keep_tell tells it how that ended; code 0: the object is here. */
void gw_keep_tell(struct gw_node_core *core, const struct gw_msg_keep *keep, int code,
                  const char *text);

#endif
