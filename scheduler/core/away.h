/* Away: workers that were lost a moment ago, or are not ready yet since they came back, and what
 * they have room for. What fits with them waits for them, and is not refused. */
#ifndef GW_SCHEDULER_CORE_AWAY_H
#define GW_SCHEDULER_CORE_AWAY_H

#include "scheduler/core/state.h"

/* gw_sched_away_on_lost and gw_sched_away_on_ready keep and forget one. Called by apply functions.
 */
void gw_sched_away_on_lost(struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_away_on_given: another worker has a GPU now that was the own of the one that was lost;
 * for apply functions. */
void gw_sched_away_on_given(struct gw_sched *sched, uint64_t incarnation, bool instance);
void gw_sched_away_on_ready(struct gw_sched *sched, const struct gw_worker *worker);
void gw_sched_away_deinit(struct gw_sched *sched);

/* gw_sched_away_knows tells whether a worker that comes is one of them. */
bool gw_sched_away_knows(const struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_away_has tells whether this life of a worker is one of them. */
bool gw_sched_away_has(const struct gw_sched *sched, uint64_t incarnation);

/* gw_sched_away_could tells whether the cluster could hold a shape if those that are away were
 * back, and everything were empty. Their named resources are not known. */
bool gw_sched_away_could(const struct gw_sched *sched, const struct gw_shape *shape);

/* gw_sched_away_explain writes who is waited for, where a shape fits with those only; else "". */
void gw_sched_away_explain(const struct gw_sched *sched, const struct gw_shape *shape, char *text,
                           size_t bytes);

#endif
