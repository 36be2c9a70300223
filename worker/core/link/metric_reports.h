/* Keeps what the attempts here report, numbers it, and sends it to the scheduler. */
#ifndef GW_WORKER_CORE_LINK_METRIC_REPORTS_H
#define GW_WORKER_CORE_LINK_METRIC_REPORTS_H

#include "worker/core/model/state.h"

enum { GW_METRIC_REPORTS_MAX = 4096 }; /* kept for each attempt, the latest ones */

/* gw_metric_reports_add takes the report of an attempt and sends it, unless the scheduler is
 * absent or slow. */
void gw_metric_reports_add(struct gw_node_core *core, const struct gw_attempt *run,
                           const struct gw_msg_metric *report);

/* gw_metric_reports_has_room returns false if the attempt has reported GW_METRIC_NAMES_MAX other
 * metrics: gw_metric_reports_add then drops a report of this one. */
bool gw_metric_reports_has_room(const struct gw_node_core *core, uint64_t attempt,
                                const char *name);

/* gw_metric_reports_flush sends what was not sent, even to a slow scheduler. It must be called just
 * before the end of an attempt is reported. */
void gw_metric_reports_flush(struct gw_node_core *core, uint64_t attempt);

/* gw_metric_reports_on_registered sends all reports again, because a new term of the scheduler may
 * not have them. gw_metric_reports_on_read sends what waits for a scheduler that was slow. */
void gw_metric_reports_on_registered(struct gw_node_core *core);
void gw_metric_reports_on_read(struct gw_node_core *core);

/* gw_metric_reports_drop frees the reports of an attempt whose end is not reported again. */
void gw_metric_reports_drop(struct gw_node_core *core, uint64_t attempt);
void gw_metric_reports_deinit(struct gw_node_core *core);

#endif
