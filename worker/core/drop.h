/* Giving up all that runs: because nobody hears of us any more, or because this worker ends. */
#ifndef GW_WORKER_CORE_DROP_H
#define GW_WORKER_CORE_DROP_H

#include "worker/core/state.h"

/* gw_drop_runs frees all runs, wherever they are; processes are left alone. */
void gw_drop_runs(struct gw_node_core *core);

/* gw_drop_all gives up everything that runs, at once: its ends will not be told. */
void gw_drop_all(struct gw_node_core *core);

/* gw_drop_shut_down gives up everything, and ends this worker when the last process is buried. Each
 * has its task's own grace to end in, but no more than grace_ns_max; 0: half a second. Told again,
 * with less, it is less for those that still run. */
void gw_drop_shut_down(struct gw_node_core *core, uint64_t grace_ns_max);

#endif
