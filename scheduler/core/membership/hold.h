/* The hold after a restart of the scheduler: tasks that may still run at workers are not started
 * again at once.
 *
 * The list of connected workers is stored in the journal. A scheduler that restarts with unfinished
 * jobs holds these jobs until each worker of the earlier scheduler has come back and reported what
 * runs there (adopt.h), or until GW_LOST_NS is over. After that time a missing worker has ended all
 * that it ran. New jobs are not held, except those that need GPUs: a missing worker may still use a
 * GPU that another worker of the same machine offers. For this reason a lost worker with GPUs stays
 * in the journal's list until it has been silent for so long that nothing can run there any more.
 */
#ifndef GW_SCHEDULER_CORE_MEMBERSHIP_HOLD_H
#define GW_SCHEDULER_CORE_MEMBERSHIP_HOLD_H

#include "scheduler/core/model/state.h"

/* gw_sched_hold_begin holds the restored jobs if a worker may still run some of their tasks.
 * gw_sched_hold_settle ends the hold when it is over. gw_sched_hold_deadline_ns returns the time at
 * which that happens at the latest. */
void gw_sched_hold_begin(struct gw_sched *sched);
void gw_sched_hold_settle(struct gw_sched *sched);
uint64_t gw_sched_hold_deadline_ns(const struct gw_sched *sched);

/* gw_sched_hold_on_gone is called when no worker of this name will come back. */
void gw_sched_hold_on_gone(struct gw_sched *sched, const char *name);

/* gw_sched_hold_is_coming returns true if a worker of this name is awaited or has come back but is
 * not ready yet. */
bool gw_sched_hold_is_coming(const struct gw_sched *sched, const char *name);

/* gw_sched_hold_on_committed makes the workers ready that waited until their entry in the list was
 * committed to the journal. */
void gw_sched_hold_on_committed(struct gw_sched *sched);

/* gw_sched_hold_explain writes which workers are awaited and why. `may` completes the sentence, for
 * example "may still run this". */
void gw_sched_hold_explain(const struct gw_sched *sched, const char *may, char *text, size_t bytes);

#endif
