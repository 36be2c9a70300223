/* What users ask of gangs that run.
 *
 * Of a detached job it is durable, until the attempt is judged: who was told that a gang stops, or
 * pauses, finds it so in every later life, whether its workers had heard of it or not. */
#ifndef GW_SCHEDULER_CORE_GANG_ASK_H
#define GW_SCHEDULER_CORE_GANG_ASK_H

#include "scheduler/core/model/state.h"

/* gw_sched_on_gang_ask does to all gangs of a job that run what its user asks, and replies. */
void gw_sched_on_gang_ask(struct gw_sched *sched, struct gw_session *session,
                          const struct gw_msg_gang_ask *ask);

/* gw_sched_gang_ask_again asks the ranks of an attempt of an earlier term, which may not have heard
 * it. It may end it. gw_sched_gang_asks_over ends the tasks whose gang was told to stop and does
 * not come back. */
void gw_sched_gang_ask_again(struct gw_sched *sched, struct gw_gang_try *gang);
void gw_sched_gang_asks_over(struct gw_sched *sched);

#endif
