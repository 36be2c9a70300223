/* Answers about the whole cluster for the listings. */
#ifndef GW_SCHEDULER_CORE_CLUSTER_ROWS_H
#define GW_SCHEDULER_CORE_CLUSTER_ROWS_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

/* Each function returns a new value that the caller must unref: "status" is a dict, the others are
 * lists with one dict for each row. */
struct gw_value *gw_cluster_rows_status(const struct gw_sched *sched);
struct gw_value *gw_cluster_rows_workers(const struct gw_sched *sched);
struct gw_value *gw_cluster_rows_gpus(const struct gw_sched *sched);
struct gw_value *gw_cluster_rows_actors(const struct gw_sched *sched,
                                        const struct gw_remote *asker);

#endif
