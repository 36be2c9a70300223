/* Gathers results in arrays that are the columns of the message. */
#include "worker/runner/report.h"

#include <string.h>
#include <unistd.h>

int gw_report_add(struct gw_report *report, const struct gw_report_row *row,
                  struct gw_task_result *result)
{
    static const uint8_t nil = 0xc0;
    uint32_t i = report->count;
    bool inlined = result->fd < 0;
    struct gw_bin value = {&nil, 1};
    if (result->bytes && inlined)
        value = (struct gw_bin){result->buffer.data, (uint32_t)result->bytes};
    if (inlined && gw_buffer_append(&report->values, value.data, value.size) < 0)
        return GW_ENOMEM;
    if (!inlined) {
        report->fds[report->fd_count++] = result->fd;
        result->fd = -1;
    }
    report->attempt[i] = row->attempt;
    report->rank[i] = row->rank;
    report->bytes[i] = inlined ? value.size : result->bytes;
    report->value_size[i] = inlined ? value.size : 0;
    report->run_ns[i] = row->run_ns;
    report->count++;
    return 0;
}

bool gw_report_takes(const struct gw_report *report, const struct gw_error *error, const char *tail)
{
    if (report->count == 0 || report->failed != (error != NULL))
        return report->count == 0;
    return !error ||
           (report->error.code == error->code && strcmp(report->error.text, error->text) == 0 &&
            strcmp(report->tail, tail) == 0);
}

void gw_report_fail(struct gw_report *report, const struct gw_report_row *row,
                    const struct gw_error *error, const char *tail)
{
    if (report->count == 0) {
        report->failed = true;
        report->error = *error;
        memcpy(report->tail, tail, strlen(tail) + 1);
    }
    report->attempt[report->count] = row->attempt;
    report->run_ns[report->count++] = row->run_ns;
}

bool gw_report_is_full(const struct gw_report *report)
{
    return report->count == GW_REPORT_ROWS_MAX || report->fd_count == GW_REPORT_FDS_MAX;
}

static int put_failures(struct gw_report *report, struct gw_channel *channel)
{
    const struct gw_message message = {.type = GW_MESSAGE_failures,
                                       .failures = {.code = report->error.code,
                                                    .text = report->error.text,
                                                    .stderr_tail = report->tail,
                                                    .attempt = {report->attempt, report->count},
                                                    .run_ns = {report->run_ns, report->count}}};
    report->count = 0;
    report->failed = false;
    return gw_channel_put(channel, &message, (struct gw_channel_fds){0});
}

int gw_report_put(struct gw_report *report, struct gw_channel *channel)
{
    if (report->count == 0)
        return 0;
    if (report->failed)
        return put_failures(report, channel);
    const struct gw_message message = {
        .type = GW_MESSAGE_finished,
        .finished = {.attempt = {report->attempt, report->count},
                     .rank = {report->rank, report->count},
                     .bytes = {report->bytes, report->count},
                     .value_size = {report->value_size, report->count},
                     .values = {report->values.data, (uint32_t)report->values.size},
                     .run_ns = {report->run_ns, report->count}}};
    const struct gw_channel_fds fds = {.fds = report->fds, .count = report->fd_count, .take = true};
    int rc = gw_channel_put(channel, &message, fds);
    report->count = 0;
    report->fd_count = 0;
    report->values.size = 0;
    return rc;
}
