/* Changes the times of the scheduler: begin of a term, steps, and shutdown. */
#ifndef GW_SCHEDULER_CORE_CHANGES_TERM_H
#define GW_SCHEDULER_CORE_CHANGES_TERM_H

#include "scheduler/core/model/state.h"

/* gw_sched_term_restore begins or ends the restoring of facts of earlier terms. The notes that
 * these facts wrote are dropped: their consequences were decided in those terms, and jobs may have
 * been forgotten since. */
void gw_sched_term_restore(struct gw_sched *sched, bool begins);

/* gw_sched_term_begin sets the times of a new term and continues job ids after all ids that may
 * have been used. gw_sched_term_step sets the times of a step. gw_sched_term_end marks the last
 * step. */
void gw_sched_term_begin(struct gw_sched *sched, const struct gw_event *event);
void gw_sched_term_step(struct gw_sched *sched, const struct gw_event *event);
void gw_sched_term_end(struct gw_sched *sched);

#endif
