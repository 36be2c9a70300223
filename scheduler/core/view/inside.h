/* What the client inside of a task waits for: see nested.h for what its waiting means. */
#ifndef GW_SCHEDULER_CORE_INSIDE_H
#define GW_SCHEDULER_CORE_INSIDE_H

#include "scheduler/core/model/state.h"

#include "graph/base/text.h"

/* gw_sched_inside_explain appends what an attempt waits for inside ("; it runs and waits for ...");
 * nothing where it waits for nothing. */
void gw_sched_inside_explain(const struct gw_sched *sched, const struct gw_attempt *attempt,
                             struct gw_text *text);

/* gw_sched_inside_explain_gang does that for the ranks of a gang, the first few that wait. */
void gw_sched_inside_explain_gang(const struct gw_sched *sched, const struct gw_gang_attempt *gang,
                                  struct gw_text *text);

#endif
