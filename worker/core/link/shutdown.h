/* Gives up all attempts, if the scheduler has been silent for too long or if this worker shuts
 * down. */
#ifndef GW_WORKER_CORE_LINK_SHUTDOWN_H
#define GW_WORKER_CORE_LINK_SHUTDOWN_H

#include "worker/core/model/state.h"

/* gw_shutdown_free_runs frees all attempts of the worker. It leaves the processes alone. */
void gw_shutdown_free_runs(struct gw_node_core *core);

/* gw_shutdown_fence gives up all attempts at once if the scheduler has been silent for too long.
 * Their ends are not reported. gw_shutdown_fence_ns returns the time at which this happens.
 * UINT64_MAX: no attempt is here. */
void gw_shutdown_fence(struct gw_node_core *core);
uint64_t gw_shutdown_fence_ns(const struct gw_node_core *core);

/* gw_shutdown_begin gives up all attempts. The worker exits when the last process is reaped. Each
 * process gets the grace period of its task, but at most grace_ns_max. If grace_ns_max is 0, each
 * gets half a second. A second call shortens the time of the processes that still run. */
void gw_shutdown_begin(struct gw_node_core *core, uint64_t grace_ns_max);

/* gw_shutdown_on_leave tells the worker to shut down because of `text` (copied). All attempts are
 * given up as by gw_shutdown_begin, each with its own grace period, but at most GW_LEAVE_NS. If
 * `text` is NULL, or at a second call, each gets half a second, and the worker does not wait for
 * the scheduler before it exits. */
void gw_shutdown_on_leave(struct gw_node_core *core, const char *text);

/* gw_shutdown_allow records that the scheduler needs nothing more from this worker. */
void gw_shutdown_allow(struct gw_node_core *core);

/* gw_shutdown_settle adds the effect EXIT if the worker is shutting down and nothing runs any more.
 * Before that it may tell the scheduler so and wait for permission, at most until
 * gw_shutdown_deadline_ns. UINT64_MAX: it does not wait. */
void gw_shutdown_settle(struct gw_node_core *core);
uint64_t gw_shutdown_deadline_ns(const struct gw_node_core *core);

#endif
