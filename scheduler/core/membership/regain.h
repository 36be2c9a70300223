/* Regaining: what workers made for an earlier life of the scheduler stays theirs in this one.
 *
 * Of a task of a detached job that had ended well the facts say by which attempt, and nothing of
 * where its results lie that are larger than what is kept here. While workers of that life are
 * awaited (hold.h) such a result is absent: neither lost nor at hand. Who registers names each of
 * its objects with the attempt that made it; where that is the one, it is a holder. What is absent
 * when nobody is awaited any more is lost, and made again where it is needed. */
#ifndef GW_SCHEDULER_CORE_REGAIN_H
#define GW_SCHEDULER_CORE_REGAIN_H

#include "scheduler/core/model/state.h"

/* gw_sched_regain takes what it can of the objects of a registration, after its attempts
 * (adopt.h), and has the worker let go of the others. */
void gw_sched_regain(struct gw_sched *sched, struct gw_worker *worker,
                     const struct gw_msg_registration *registration);

/* gw_sched_regain_awaits tells whether all that nobody has of a task's results may come back. */
bool gw_sched_regain_awaits(const struct gw_sched *sched, const struct gw_job *job, uint32_t row);

#endif
