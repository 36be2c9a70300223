/* Draws the graph of a job for people, with a limited number of nodes. */
#ifndef GW_SCHEDULER_CORE_GRAPH_VIEW_H
#define GW_SCHEDULER_CORE_GRAPH_VIEW_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

enum { GW_GRAPH_VIEW_NODES = 200, GW_GRAPH_VIEW_NODES_MAX = 5000 };

/* gw_sched_graph_view_query answers the query "graph". Each task is a node. If that would be more
 * than `limit` nodes, all tasks whose names differ only by a number share a node. A range is always
 * one node. */
struct gw_value *gw_sched_graph_view_query(const struct gw_sched *sched, struct gw_job *job,
                                           uint32_t limit);

#endif
