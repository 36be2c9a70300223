/* Away: workers that were lost a moment ago, or are not ready yet since they came back, and what
 * they have room for. What fits with them waits for them, and is not refused. */
#ifndef GW_SCHEDULER_CORE_DISCONNECTED_H
#define GW_SCHEDULER_CORE_DISCONNECTED_H

#include "scheduler/core/model/state.h"

/* gw_sched_disconnected_could tells whether the cluster could hold a shape if those that are away
 * were back, and everything were empty. Their named resources are not known. */
bool gw_sched_disconnected_could(const struct gw_sched *sched, const struct gw_shape *shape);

/* gw_sched_disconnected_explain writes who is waited for, where a shape fits with those only; else
 * "". */
void gw_sched_disconnected_explain(const struct gw_sched *sched, const struct gw_shape *shape,
                                   char *text, size_t bytes);

#endif
