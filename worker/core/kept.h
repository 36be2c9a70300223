/* Folders that commands left. */
#ifndef GW_WORKER_CORE_KEPT_H
#define GW_WORKER_CORE_KEPT_H

#include "worker/core/state.h"

/* gw_kept_take keeps the folder of a run that ends, and its path with it; false: it goes. */
bool gw_kept_take(struct gw_node_core *core, struct gw_run *run);
void gw_kept_on_counted(struct gw_node_core *core, const struct gw_event *event);
void gw_kept_on_forget(struct gw_node_core *core, uint64_t job);
void gw_kept_deinit(struct gw_node_core *core);
void gw_kept_check(const struct gw_node_core *core);

#endif
