/* The term of a scheduler: it starts, takes steps, and shuts down. */
#ifndef GW_SCHEDULER_CORE_CHANGES_TERM_H
#define GW_SCHEDULER_CORE_CHANGES_TERM_H

#include "scheduler/core/model/state.h"

/* gw_sched_term_restore: facts of earlier terms are applied from now on, or no more. Their notes
 * are dropped: what follows was decided in those terms, and jobs may be gone since. */
void gw_sched_term_restore(struct gw_sched *sched, bool begins);

/* gw_sched_term_begin sets the times of a term that begins; job ids go on behind all that may have
 * been given out. gw_sched_term_step takes the times of a step; gw_sched_term_end: this is the last
 * one. */
void gw_sched_term_begin(struct gw_sched *sched, const struct gw_event *event);
void gw_sched_term_step(struct gw_sched *sched, const struct gw_event *event);
void gw_sched_term_end(struct gw_sched *sched);

#endif
