/* Tasks that submit tasks: the session of a client inside an attempt, and the slots of an attempt
 * that waits for other tasks. */
#ifndef GW_SCHEDULER_CORE_REQUESTS_NESTED_H
#define GW_SCHEDULER_CORE_REQUESTS_NESTED_H

#include "scheduler/core/model/state.h"

/* gw_sched_nested_find finds the attempt whose task opens a connection (an OPEN event with role
 * task). Returns GW_ENOENT if the attempt is not alive at a worker of the same user. */
int gw_sched_nested_find(const struct gw_sched *sched, const struct gw_event *event,
                         uint32_t *slot);

/* gw_sched_nested_comes_before returns true if the task of the session's attempt is `row` itself,
 * or if `row` depends on it directly or through other tasks. In this case a wait for `row` would
 * never end. The search is limited: it may miss a dependency through many thousand tasks. */
bool gw_sched_nested_comes_before(const struct gw_sched *sched, const struct gw_session *session,
                                  const struct gw_row *row);

/* gw_sched_nested_on_blocked handles a worker's report that a task waits for other tasks or
 * continues. The report is dropped if the attempt is not alive any more. */
void gw_sched_nested_on_blocked(struct gw_sched *sched, struct gw_worker *worker,
                                const struct gw_msg_task_blocked *message);

#endif
