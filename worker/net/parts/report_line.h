/* One line of JSON with which the process of a command reports a step. */
#ifndef GW_NET_REPORT_LINE_H
#define GW_NET_REPORT_LINE_H

#include "graph/wire/enums.h"

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GW_REPORT_LINE_BYTES = 4096, /* maximum length of a line, without its newline */
    GW_REPORT_METRICS_MAX = 8,   /* maximum number of metrics of a report */
};

struct gw_report_line {
    bool has_step;
    int64_t step;
    uint32_t count; /* number of metrics; may be 0 */
    struct {
        char name[GW_METRIC_NAME_BYTES];
        double value;
    } metrics[GW_REPORT_METRICS_MAX];
};

/* gw_report_line_parse reads a line like {"step": 3, "loss": 0.4}. "step" must be a whole number
 * and may be missing. All other values are numbers, or one of the texts "nan", "inf" and "-inf".
 * The words NaN, Infinity and -Infinity, which Python writes, are accepted, too. Returns 0, or
 * GW_EINVAL with a text that says what to write. */
int gw_report_line_parse(const char *line, size_t bytes, struct gw_report_line *report,
                         struct gw_error *error);

#endif
