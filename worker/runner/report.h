/* Results on their way to the worker, gathered so that many short tasks share a message. */
#ifndef GW_RUNNER_REPORT_H
#define GW_RUNNER_REPORT_H

#include "graph/base/array.h"
#include "graph/base/tail.h"
#include "graph/wire/channel.h"
#include "worker/runner/task_result.h"

enum { GW_REPORT_ROWS_MAX = 256, GW_REPORT_FDS_MAX = 32 };

/* Either tasks that ended well, or such as failed alike. */
struct gw_report {
    uint32_t count;
    bool failed;
    struct gw_error error;    /* of all rows, where they failed, */
    char tail[GW_TAIL_BYTES]; /* and the last lines of their stderr */
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

/* gw_report_add adds a task that ended well, with its result (whose descriptor it takes).
 * GW_ENOMEM. The caller flushes when gw_report_is_full. */
int gw_report_add(struct gw_report *report, const struct gw_report_row *row,
                  struct gw_task_result *result);

/* gw_report_takes tells whether a task that ended so (NULL: well) may be added, or what there is
 * has to be put first. gw_report_fail adds a task that failed; tail:
 * the last lines of its stderr. */
bool gw_report_takes(const struct gw_report *report, const struct gw_error *error,
                     const char *tail);
void gw_report_fail(struct gw_report *report, const struct gw_report_row *row,
                    const struct gw_error *error, const char *tail);

bool gw_report_is_full(const struct gw_report *report);

/* gw_report_put queues them as one `finished`, or `failures`, on a channel and forgets them;
 * nothing where there are none. Errors as gw_channel_put. */
int gw_report_put(struct gw_report *report, struct gw_channel *channel);

#endif
