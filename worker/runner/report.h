/* Gathers results for the worker, so that many short tasks share a message. */
#ifndef GW_RUNNER_REPORT_H
#define GW_RUNNER_REPORT_H

#include "graph/base/array.h"
#include "graph/base/tail.h"
#include "graph/wire/channel.h"
#include "worker/runner/task_result.h"

enum { GW_REPORT_ROWS_MAX = 256, GW_REPORT_FDS_MAX = 32 };

/* Tasks that have all succeeded, or that have all failed in the same way. */
struct gw_report {
    uint32_t count;
    bool failed;
    struct gw_error error;    /* error of all rows, if they failed */
    char tail[GW_TAIL_BYTES]; /* last lines of their stderr */
    uint64_t attempt[GW_REPORT_ROWS_MAX], bytes[GW_REPORT_ROWS_MAX], run_ns[GW_REPORT_ROWS_MAX];
    uint32_t rank[GW_REPORT_ROWS_MAX], value_size[GW_REPORT_ROWS_MAX];
    struct gw_buffer values;
    int fds[GW_REPORT_FDS_MAX];
    uint8_t fd_count;
};

struct gw_report_row {
    uint64_t attempt, run_ns, ended_ns;
    uint32_t rank;
};

/* gw_report_add adds a task that has succeeded, with its result, whose descriptor it takes over.
 * Returns GW_ENOMEM if out of memory. The caller must flush if gw_report_is_full. */
int gw_report_add(struct gw_report *report, const struct gw_report_row *row,
                  struct gw_task_result *result);

/* gw_report_takes returns true if a task with this outcome (NULL: success) can be added. If not,
 * the report must be sent first. gw_report_fail adds a task that has failed. tail is the last lines
 * of its stderr. */
bool gw_report_takes(const struct gw_report *report, const struct gw_error *error,
                     const char *tail);
void gw_report_fail(struct gw_report *report, const struct gw_report_row *row,
                    const struct gw_error *error, const char *tail);

bool gw_report_is_full(const struct gw_report *report);

/* gw_report_put writes the report to a channel as one `finished` or `failures` message, and empties
 * it. It does nothing if the report is empty. Errors: as gw_channel_put. */
int gw_report_put(struct gw_report *report, struct gw_channel *channel);

#endif
