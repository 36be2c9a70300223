/* What listings say of the whole cluster. */
#ifndef GW_SCHEDULER_CORE_CLUSTER_ROWS_H
#define GW_SCHEDULER_CORE_CLUSTER_ROWS_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

/* Each gives an answer, to be unref'd: "status" a dict, the others lists. */
struct gw_value *gw_cluster_rows_status(const struct gw_sched *sched);
struct gw_value *gw_cluster_rows_workers(const struct gw_sched *sched);
struct gw_value *gw_cluster_rows_gpus(const struct gw_sched *sched);
struct gw_value *gw_cluster_rows_actors(const struct gw_sched *sched);

#endif
