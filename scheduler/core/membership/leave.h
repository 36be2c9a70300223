/* Workers that were told to end.
 *
 * One that is says so at once, and nothing more is placed there. When all that it ran has ended it
 * says so again: that runs elsewhere then, as what a worker had that was sent away does. It stays
 * itself, leaving, for as long as nobody else has a checkpoint that a gang would go on from, and is
 * told to go (shutdown) as soon as somebody has, or nobody is there who could. It goes by itself
 * after GW_LEAVE_NS. */
#ifndef GW_SCHEDULER_CORE_LEAVE_H
#define GW_SCHEDULER_CORE_LEAVE_H

#include "scheduler/core/model/state.h"

/* gw_sched_leave_on_leaving takes a worker's word that it was told to end: nothing more is placed
 * there. If it has ended all that it ran, it stays for its checkpoints, or is told to go. */
void gw_sched_leave_on_leaving(struct gw_sched *sched, struct gw_worker *worker,
                               const struct gw_msg_leaving *leaving);

/* gw_sched_leave_settle lets those go that need not stay, once a step has placed what it could. */
void gw_sched_leave_settle(struct gw_sched *sched);

#endif
