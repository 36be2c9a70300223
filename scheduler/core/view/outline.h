/* Outlines: a job's graph for people, drawn in as many nodes as they can look at. */
#ifndef GW_SCHEDULER_CORE_OUTLINE_H
#define GW_SCHEDULER_CORE_OUTLINE_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

enum { GW_OUTLINE_NODES = 200, GW_OUTLINE_NODES_MAX = 5000 };

/* gw_sched_outline_query answers the query "graph": a node a task, or, where there are more than
 * `limit`, a node for all tasks whose names differ by a number; a range is one node in any case. */
struct gw_value *gw_sched_outline_query(const struct gw_sched *sched, struct gw_job *job,
                                        uint32_t limit);

#endif
