#include "worker/runner/progress.h"

#include "graph/base/clock.h"

#include <stdio.h>

#define EVERY_NS (50 * GW_NS_PER_MS)

void gw_progress_begin(struct gw_progress *progress, uint64_t attempt, uint32_t rank,
                       uint64_t silence_ns)
{
    progress->attempt = attempt;
    progress->rank = rank;
    progress->silence_ns = silence_ns;
    progress->metric.pending = progress->pending = false;
    progress->metric.sent_ns = progress->sent_ns = 0;
}

static int send_metric(struct gw_progress *progress, uint64_t now_ns)
{
    const struct gw_message message = {.type = GW_MESSAGE_metric,
                                       .metric = {.attempt = progress->attempt,
                                                  .rank = progress->rank,
                                                  .step = progress->metric.step,
                                                  .name = progress->metric.name,
                                                  .value = progress->metric.value}};
    progress->metric.pending = false;
    progress->metric.sent_ns = now_ns;
    return gw_outbox_say(progress->outbox, &message);
}

static int send_progress(struct gw_progress *progress, uint64_t now_ns)
{
    const struct gw_message message = {.type = GW_MESSAGE_progress,
                                       .progress = {.attempt = progress->attempt,
                                                    .rank = progress->rank,
                                                    .fraction = progress->fraction,
                                                    .text = progress->text}};
    progress->pending = false;
    progress->sent_ns = now_ns;
    return gw_outbox_say(progress->outbox, &message);
}

static bool is_due(uint64_t sent_ns, uint64_t now_ns)
{
    return sent_ns == 0 || now_ns - sent_ns >= EVERY_NS;
}

int gw_progress_metric(struct gw_progress *progress, int64_t step, const char *name, double value,
                       uint64_t now_ns)
{
    struct gw_progress_metric *metric = &progress->metric;
    metric->pending = true;
    metric->step = step;
    metric->value = value;
    (void)snprintf(metric->name, sizeof metric->name, "%s", name);
    return is_due(metric->sent_ns, now_ns) ? send_metric(progress, now_ns) : 0;
}

int gw_progress_note(struct gw_progress *progress, double fraction, const char *text,
                     uint64_t now_ns)
{
    progress->pending = true;
    progress->fraction = fraction;
    (void)snprintf(progress->text, sizeof progress->text, "%s", text ? text : "");
    return is_due(progress->sent_ns, now_ns) ? send_progress(progress, now_ns) : 0;
}

int gw_progress_alive(struct gw_progress *progress)
{
    if (!progress->silence_ns)
        return 0;
    uint64_t now_ns = gw_clock_now_ns();
    if (!progress->pending)
        return gw_progress_note(progress, -1, NULL, now_ns);
    return is_due(progress->sent_ns, now_ns) ? send_progress(progress, now_ns) : 0;
}

int gw_progress_end(struct gw_progress *progress, uint64_t now_ns)
{
    int rc = progress->metric.pending ? send_metric(progress, now_ns) : 0;
    if (rc == 0 && progress->pending && progress->fraction >= 0)
        rc = send_progress(progress, now_ns);
    return rc;
}
