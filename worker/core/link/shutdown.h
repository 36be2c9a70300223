/* Giving up all that runs: because nobody hears of us any more, or because this worker ends. */
#ifndef GW_WORKER_CORE_LINK_SHUTDOWN_H
#define GW_WORKER_CORE_LINK_SHUTDOWN_H

#include "worker/core/model/state.h"

/* gw_shutdown_free_runs frees all runs, wherever they are; processes are left alone. */
void gw_shutdown_free_runs(struct gw_node_core *core);

/* gw_shutdown_fence gives up everything that runs, at once, if no scheduler was heard for too long:
 * its ends will not be told. gw_shutdown_fence_ns is when; UINT64_MAX: nothing runs. */
void gw_shutdown_fence(struct gw_node_core *core);
uint64_t gw_shutdown_fence_ns(const struct gw_node_core *core);

/* gw_shutdown_begin gives up everything, and ends this worker when the last process is buried. Each
 * has its task's own grace to end in, but no more than grace_ns_max; 0: half a second. Told again,
 * with less, it is less for those that still run. */
void gw_shutdown_begin(struct gw_node_core *core, uint64_t grace_ns_max);

/* gw_shutdown_on_leave takes the word that it is to end, as `text` says (copied; NULL: at once, and
 * it need not stay), or that it is to end sooner: all that runs is given up, as by
 * gw_shutdown_begin, and has its own grace, but no more than GW_LEAVE_NS; told again, half a
 * second. */
void gw_shutdown_on_leave(struct gw_node_core *core, const char *text);

/* gw_shutdown_allow is told that the scheduler needs nothing more of it. */
void gw_shutdown_allow(struct gw_node_core *core);

/* gw_shutdown_settle has a worker that ends EXIT once nothing runs any more; before that it may
 * tell the scheduler so and wait for its word, until gw_shutdown_deadline_ns (UINT64_MAX: it does
 * not).
 */
void gw_shutdown_settle(struct gw_node_core *core);
uint64_t gw_shutdown_deadline_ns(const struct gw_node_core *core);

#endif
