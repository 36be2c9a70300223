/* Metrics that tasks report with gw_task_step: of each task the latest value of each name.
 * Soft, until the task ends. */
#ifndef GW_SCHEDULER_CORE_METRIC_H
#define GW_SCHEDULER_CORE_METRIC_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

enum { GW_METRIC_NAMES_MAX = 8 }; /* of a task; further names are not kept */

struct gw_metric {
    const char *name; /* in the job's arena */
    int64_t step;
    double value;
    struct gw_metric *next; /* an older one's, of the same task */
};

/* gw_metric_first gives a task's metrics, the one that was reported last first; NULL: none. */
const struct gw_metric *gw_metric_first(const struct gw_job *job, uint32_t row);

/* gw_metric_last gives the one that was reported last of all tasks of a job; NULL: none. */
const struct gw_metric *gw_metric_last(const struct gw_job *job);

/* gw_metric_write makes the metrics of a task that ends durable. */
void gw_metric_write(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_metric_shown writes "loss=0.25 accuracy=0.9 (step 12)" of a task; cut. */
void gw_metric_shown(const struct gw_metric *metric, char *text, size_t text_bytes);

/* gw_metric_put sets in a row of a listing: "metric", the latest, {"step", "name", "value",
 * "shown"}, and "metrics", {name: value}. Nothing where there is none. */
void gw_metric_put(const struct gw_metric *metric, struct gw_value *row);

#endif
