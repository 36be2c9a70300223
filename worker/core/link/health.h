/* Failing health checks of this machine, and their reports to the scheduler. A worker whose check
 * fails takes no more work.
 *
 * A check that fails once counts at once. It is well again when it has passed twice in a row, so
 * that a machine that is at its limit does not take and lose work in turns. The scheduler is told
 * after each registration and each change, but not before all checks have run once, so that a
 * worker that was drained does not get work while its first checks still run. As long as a check
 * fails, each failure is told: an admin who allows work again meanwhile is told again. */
#ifndef GW_WORKER_CORE_HEALTH_H
#define GW_WORKER_CORE_HEALTH_H

#include "worker/core/model/state.h"

void gw_health_deinit(struct gw_node_core *core);

/* gw_health_on_checked handles the result of a check: event.number is the enum gw_health_check,
 * event.text says why it fails, or is "". */
void gw_health_on_checked(struct gw_node_core *core, const struct gw_event *event);

/* gw_health_limit: see gw_node_core_limit. */
void gw_health_limit(struct gw_node_core *core, uint32_t checks);

void gw_health_on_registered(struct gw_node_core *core); /* the scheduler knows nothing of it */
void gw_health_settle(struct gw_node_core *core);        /* called at the end of a step */

#endif
