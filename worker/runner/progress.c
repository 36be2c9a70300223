#include "worker/runner/progress.h"

#include "graph/base/clock.h"

#include <stdio.h>
#include <string.h>

#define EVERY_NS (50 * GW_NS_PER_MS)

void gw_progress_begin(struct gw_progress *progress, uint64_t attempt, uint32_t rank,
                       uint64_t silence_ns)
{
    progress->attempt = attempt;
    progress->rank = rank;
    progress->silence_ns = silence_ns;
    progress->metric_count = progress->window_count = 0;
    progress->window_ns = 0;
    progress->pending = false;
    progress->sent_ns = 0;
}

static int send_metric(struct gw_progress *progress, struct gw_progress_metric *metric)
{
    const struct gw_message message = {.type = GW_MESSAGE_metric,
                                       .metric = {.attempt = progress->attempt,
                                                  .rank = progress->rank,
                                                  .step = metric->step,
                                                  .name = metric->name,
                                                  .value = metric->value,
                                                  .wall_ns = metric->wall_ns}};
    metric->pending = false;
    return gw_outbox_say(progress->outbox, &message);
}

static int send_pending(struct gw_progress *progress)
{
    int rc = 0;
    for (uint32_t i = 0; i < progress->metric_count && rc == 0; i++)
        if (progress->metrics[i].pending)
            rc = send_metric(progress, &progress->metrics[i]);
    return rc;
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

/* Returns the entry of a metric. If all entries are used, further metrics share the last one. */
static struct gw_progress_metric *metric_of(struct gw_progress *progress, const char *name)
{
    for (uint32_t i = 0; i < progress->metric_count; i++) {
        struct gw_progress_metric *metric = &progress->metrics[i];
        if (strncmp(metric->name, name, sizeof metric->name - 1) == 0)
            return metric;
    }
    if (progress->metric_count == GW_PROGRESS_METRICS)
        return &progress->metrics[GW_PROGRESS_METRICS - 1];
    struct gw_progress_metric *metric = &progress->metrics[progress->metric_count++];
    *metric = (struct gw_progress_metric){0};
    return metric;
}

int gw_progress_metric(struct gw_progress *progress, int64_t step, const char *name, double value,
                       uint64_t now_ns)
{
    int rc = 0;
    if (is_due(progress->window_ns, now_ns)) {
        progress->window_ns = now_ns;
        progress->window_count = 0;
        rc = send_pending(progress);
    }
    struct gw_progress_metric *metric = metric_of(progress, name);
    metric->pending = true;
    metric->step = step;
    metric->value = value;
    metric->wall_ns = gw_clock_wall_ns();
    (void)snprintf(metric->name, sizeof metric->name, "%s", name);
    if (rc < 0 || progress->window_count == GW_PROGRESS_WINDOW_METRICS)
        return rc;
    progress->window_count++;
    return send_metric(progress, metric);
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
    int rc = send_pending(progress);
    if (rc == 0 && progress->pending && progress->fraction >= 0)
        rc = send_progress(progress, now_ns);
    return rc;
}
