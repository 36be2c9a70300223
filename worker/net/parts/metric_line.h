/* Metrics in a line of output, like "epoch=3 loss=0.25 lr = 1e-3". */
#ifndef GW_NET_METRIC_LINE_H
#define GW_NET_METRIC_LINE_H

#include "graph/wire/enums.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The names to look for. */
struct gw_metric_names {
    uint32_t count;
    char names[GW_METRICS_READ_MAX][GW_METRIC_NAME_BYTES];
};

struct gw_metric_line {
    bool has_step; /* the line has step=N, or else epoch=N, with a whole number */
    int64_t step;
    uint32_t found; /* bit i: names[i] has a value */
    double values[GW_METRICS_READ_MAX];
};

/* gw_metric_line_init reads a list like "loss,accuracy", as gw_task_options.metrics has it. Names
 * that are too long or too many are left out. */
void gw_metric_line_init(struct gw_metric_names *names, const char *list);

/* gw_metric_line_read finds the metrics in a line by the rule
 * ([\w|-]+)\s*=\s*([+-]?\d*(\.\d+)?([Ee][+-]?\d+)?). A name without a number behind it is no
 * metric. If a name occurs several times, the last value counts. */
void gw_metric_line_read(const struct gw_metric_names *names, const char *line, size_t bytes,
                         struct gw_metric_line *found);

#endif
