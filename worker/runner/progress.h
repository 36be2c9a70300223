/* Progress of the executing task, and the metrics of its steps. Progress is sent at most once in
 * 50 ms, and the last one always. Of metrics, the first 64 reports in 50 ms are sent. Of further
 * ones, only the newest of each metric is sent, at the next report after that time or at the end.
 */
#ifndef GW_RUNNER_PROGRESS_H
#define GW_RUNNER_PROGRESS_H

#include "worker/runner/outbox.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GW_PROGRESS_METRICS = 8,         /* metrics of which the newest value is stored */
    GW_PROGRESS_WINDOW_METRICS = 64, /* reports that are sent within 50 ms */
};

struct gw_progress {
    struct gw_outbox *outbox; /* borrowed */
    uint64_t attempt;
    uint32_t rank;
    uint64_t silence_ns; /* the task's inactivity timeout; 0: none */
    struct gw_progress_metric {
        bool pending;
        int64_t step;
        double value;
        char name[128];
        uint64_t wall_ns; /* when it was reported */
    } metrics[GW_PROGRESS_METRICS];
    uint32_t metric_count, window_count;
    uint64_t window_ns; /* when the current 50 ms began */
    bool pending;
    double fraction; /* negative: only a sign of life is pending */
    char text[201];
    uint64_t sent_ns;
};

/* gw_progress_begin must be called when an attempt begins, and gw_progress_end when it ends. The
 * latter sends what is pending. All functions return the errors of gw_outbox_say, and must be
 * called by the thread that executes tasks. */
void gw_progress_begin(struct gw_progress *progress, uint64_t attempt, uint32_t rank,
                       uint64_t silence_ns);
int gw_progress_end(struct gw_progress *progress, uint64_t now_ns);

int gw_progress_metric(struct gw_progress *progress, int64_t step, const char *name, double value,
                       uint64_t now_ns);

/* Text is copied and truncated to 200 bytes. NULL: none. */
int gw_progress_note(struct gw_progress *progress, double fraction, const char *text,
                     uint64_t now_ns);

/* gw_progress_alive records a sign of life: a step counts as progress even without a metric. The
 * displayed progress does not change. */
int gw_progress_alive(struct gw_progress *progress);

#endif
