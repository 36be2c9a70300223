/* Explains what the client inside a running task waits for. nested.h describes what such a wait
 * means for the slots of the task. */
#ifndef GW_SCHEDULER_CORE_INSIDE_H
#define GW_SCHEDULER_CORE_INSIDE_H

#include "scheduler/core/model/state.h"

#include "graph/base/text.h"

/* gw_sched_inside_explain appends what the client inside an attempt waits for ("; it runs and waits
 * for ..."). It appends nothing if the client does not wait. */
void gw_sched_inside_explain(const struct gw_sched *sched, const struct gw_attempt *attempt,
                             struct gw_text *text);

/* gw_sched_inside_explain_gang does the same for the first few waiting ranks of a gang. */
void gw_sched_inside_explain_gang(const struct gw_sched *sched, const struct gw_gang_attempt *gang,
                                  struct gw_text *text);

#endif
