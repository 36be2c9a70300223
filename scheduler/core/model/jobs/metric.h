/* Metrics that tasks report with gw_task_step. The latest value of each name is kept for each task.
 * It becomes durable when the task ends. */
#ifndef GW_SCHEDULER_CORE_METRIC_H
#define GW_SCHEDULER_CORE_METRIC_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

enum { GW_METRIC_NAMES_MAX = 8 }; /* for each task; further names are dropped */

struct gw_metric {
    const char *name; /* in the job's arena */
    int64_t step;
    double value;
    struct gw_metric *next; /* an older metric of the same task */
};

/* gw_metric_first returns the metrics of a task, the last reported first, or NULL. */
const struct gw_metric *gw_metric_first(const struct gw_job *job, uint32_t row);

/* gw_metric_last returns the last reported metric of all tasks of a job, or NULL. */
const struct gw_metric *gw_metric_last(const struct gw_job *job);

/* gw_metric_write makes the metrics of an ending task durable. */
void gw_metric_write(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_metric_shown writes the metrics of a task as "loss=0.25 accuracy=0.9 (step 12)". The text may
 * be cut off. */
void gw_metric_shown(const struct gw_metric *metric, char *text, size_t text_bytes);

/* gw_metric_put adds to a row of a listing "metric", the latest one ({"step", "name", "value",
 * "shown"}), and "metrics" ({name: value}). It adds nothing if there is no metric. */
void gw_metric_put(const struct gw_metric *metric, struct gw_value *row);

/* gw_sched_metric_see keeps the latest value of a metric. */
void gw_sched_metric_see(struct gw_job *job, uint32_t index, const struct gw_msg_metric *seen);

#endif
