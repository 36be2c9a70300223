/* How far the task being executed says that it is: its progress, and the metrics of its steps. Each
 * is sent once in 50 ms at most, and the last one always. */
#ifndef GW_RUNNER_PROGRESS_H
#define GW_RUNNER_PROGRESS_H

#include "worker/runner/outbox.h"

#include <stdbool.h>
#include <stdint.h>

enum { GW_PROGRESS_METRICS = 8 }; /* names of a task that each have a pace of their own */

struct gw_progress {
    struct gw_outbox *outbox; /* borrowed */
    uint64_t attempt;
    uint32_t rank;
    uint64_t silence_ns; /* that it may keep; 0: any */
    struct gw_progress_metric {
        bool pending;
        int64_t step;
        double value;
        char name[128];
        uint64_t sent_ns;
    } metrics[GW_PROGRESS_METRICS];
    uint32_t metric_count;
    bool pending;
    double fraction; /* below 0: there is only a sign of life to give */
    char text[201];
    uint64_t sent_ns;
};

/* gw_progress_begin follows the begin of an attempt, gw_progress_end its end: what did not leave
 * leaves now. Errors of these and of all below: gw_outbox_say's. Thread: that which executes. */
void gw_progress_begin(struct gw_progress *progress, uint64_t attempt, uint32_t rank,
                       uint64_t silence_ns);
int gw_progress_end(struct gw_progress *progress, uint64_t now_ns);

int gw_progress_metric(struct gw_progress *progress, int64_t step, const char *name, double value,
                       uint64_t now_ns);

/* text: copied, what is over 200 bytes is cut off; NULL: none. */
int gw_progress_note(struct gw_progress *progress, double fraction, const char *text,
                     uint64_t now_ns);

/* gw_progress_alive: a step counts as progress, whether it has a metric or not; what is shown
 * stays. */
int gw_progress_alive(struct gw_progress *progress);

#endif
