/* Tasks that submit tasks: the session of a client inside of an attempt, and the slots of an
 * attempt that waits. */
#ifndef GW_SCHEDULER_CORE_REQUESTS_NESTED_H
#define GW_SCHEDULER_CORE_REQUESTS_NESTED_H

#include "scheduler/core/model/state.h"

/* gw_sched_nested_find gives the place of the attempt whose task opens a connection (an OPEN with
 * role task). GW_ENOENT: it does not live at a worker of that connection's user. */
int gw_sched_nested_find(const struct gw_sched *sched, const struct gw_event *event,
                         uint32_t *slot);

/* gw_sched_nested_comes_before tells whether the task that a session is inside of is this one, or
 * one that this one, at however many removes, waits for: it would wait for itself. (Of many
 * thousand that are between them it does not find out.) */
bool gw_sched_nested_comes_before(const struct gw_sched *sched, const struct gw_session *session,
                                  const struct gw_row *row);

/* gw_sched_nested_on_blocked takes a worker's word that a task waits, or goes on; dropped where the
 * attempt is not live any more. */
void gw_sched_nested_on_blocked(struct gw_sched *sched, struct gw_worker *worker,
                                const struct gw_msg_task_blocked *message);

#endif
