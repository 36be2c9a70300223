/* Outlines: a job's graph for people, drawn in as many nodes as they can look at. */
#ifndef GW_SCHEDULER_CORE_GRAPH_VIEW_H
#define GW_SCHEDULER_CORE_GRAPH_VIEW_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

enum { GW_GRAPH_VIEW_NODES = 200, GW_GRAPH_VIEW_NODES_MAX = 5000 };

/* gw_sched_graph_view_query answers the query "graph": a node a task, or, where there are more than
 * `limit`, a node for all tasks whose names differ by a number; a range is one node in any case. */
struct gw_value *gw_sched_graph_view_query(const struct gw_sched *sched, struct gw_job *job,
                                           uint32_t limit);

#endif
