/* Metrics that tasks report with gw_task_step: the latest value of each name, and a history.
 *
 * The history of a metric has at most GW_METRIC_POINTS_MAX points. If it is full, every second
 * point is dropped, and from then on only every 2nd (4th, 8th ...) report is stored, so that the
 * points stay evenly spaced. Each stored point is a durable fact. The latest value becomes durable
 * with the task's end. */
#ifndef GW_SCHEDULER_CORE_METRIC_H
#define GW_SCHEDULER_CORE_METRIC_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

enum {
    GW_METRIC_NAMES_MAX = 8, /* for each task; further names are dropped */
    GW_METRIC_POINTS_MAX = 4096,
};

struct gw_metric_point {
    uint64_t seq, wall_ns; /* seq: see event_number.h */
    int64_t step;
    double value;
};

struct gw_metric {
    const char *name; /* in the job's arena */
    int64_t step;
    double value;
    struct gw_metric *next; /* an older metric of the same task */
    uint64_t reports;       /* since the scheduler has started */
    uint64_t stride;        /* every how manyth report is stored */
    GW_ARRAY(struct gw_metric_point) points;
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

/* gw_metric_on_report takes in the report of a task. */
void gw_metric_on_report(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                         const struct gw_msg_metric *report);

/* gw_metric_free frees the histories of a job's metrics. */
void gw_metric_free(struct gw_job *job);

#endif
