/* Metrics that tasks report: the latest value of each name, and its history.
 *
 * Each report is a durable fact and becomes a point of its metric. The first GW_METRIC_POINTS_ALL
 * points stay. Of the later ones, GW_METRIC_POINTS_MORE stay for each doubling of their number. The
 * others are provisional: the latest one stays until the next report. So a point that was not
 * provisional is never dropped, and a reader who asks again sees it again. A worker may repeat
 * reports (PROTOCOL.md); those that are known are ignored. */
#ifndef GW_SCHEDULER_CORE_METRIC_H
#define GW_SCHEDULER_CORE_METRIC_H

#include "scheduler/core/model/state.h"

#include <gangway/value.h>

enum { GW_METRIC_POINTS_ALL = 4096, GW_METRIC_POINTS_MORE = 512 }; /* powers of two */

struct gw_metric_point {
    uint64_t seq, wall_ns; /* seq: see event_number.h */
    int64_t step;
    double value;
    uint64_t nth;    /* how many values of the metric the task had reported before */
    uint64_t stride; /* the point is provisional unless nth is a multiple of it */
};

struct gw_metric {
    const char *name; /* in the job's arena */
    int64_t step;
    double value;
    struct gw_metric *next;  /* an older metric of the same task */
    uint64_t attempt, count; /* of the latest report: its attempt, and its number in it */
    uint64_t reports;        /* reports so far */
    GW_ARRAY(struct gw_metric_point) points;
};

/* gw_metric_is_provisional returns true for a point that the next report replaces. */
static inline bool gw_metric_is_provisional(const struct gw_metric_point *point)
{
    return point->nth % point->stride != 0;
}

/* gw_metric_first returns the metrics of a task, the last reported first, or NULL. */
const struct gw_metric *gw_metric_first(const struct gw_job *job, uint32_t row);

/* gw_metric_last returns the last reported metric of all tasks of a job, or NULL. */
const struct gw_metric *gw_metric_last(const struct gw_job *job);

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
