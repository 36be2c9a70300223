/* Passes the progress and printed output of tasks on to the scheduler, and throttles them while the
 * scheduler is slow to read. The scheduler shows only the newest progress.
 *
 * Invariants: while the scheduler is slow, at most one `progress` message per task is stored, the
 * newest. It is sent when the scheduler reads again, or just before the end of the
 * task is reported. Of printed output, only the number of bytes is counted meanwhile. No other
 * message is delayed. */
#include "worker/core/link/progress_throttle.h"

#include "worker/core/link/metric_reports.h"
#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"

#include <stdlib.h>

/* The newest progress of one task. */
struct throttled {
    struct gw_msg_progress progress; /* its text is owned */
    char *text;
};

static struct throttled *find(const struct gw_node_core *core, uint64_t attempt)
{
    uint64_t value;
    return core->throttled.count && gw_map_get(&core->throttled, attempt, &value)
               ? (struct throttled *)(uintptr_t)value
               : NULL;
}

static void hold(struct gw_node_core *core, const struct gw_msg_progress *progress)
{
    struct throttled *throttled = find(core, progress->attempt);
    if (!throttled) {
        throttled = gw_core_alloc(sizeof *throttled);
        GW_MUST(gw_map_put(&core->throttled, progress->attempt, (uintptr_t)throttled));
    }
    free(throttled->text);
    throttled->progress = *progress;
    throttled->text = gw_core_strdup(progress->text);
}

/* Sends the stored message of an attempt and removes it. */
static void let_go(struct gw_node_core *core, uint64_t attempt)
{
    struct throttled *throttled = find(core, attempt);
    if (!throttled)
        return;
    if (core->registered) {
        throttled->progress.text = gw_core_text(core, throttled->text);
        gw_core_send(core, core->scheduler, GW_MESSAGE_progress)->message.progress =
            throttled->progress;
    }
    (void)gw_map_remove(&core->throttled, attempt);
    free(throttled->text);
    free(throttled);
}

void gw_progress_throttle_tell(struct gw_node_core *core, const struct gw_msg_progress *progress)
{
    if (core->registered && core->scheduler_slow)
        hold(core, progress);
    else if (core->registered)
        gw_core_send(core, core->scheduler, GW_MESSAGE_progress)->message.progress = *progress;
}

void gw_progress_throttle_printed(struct gw_node_core *core, struct gw_attempt *run,
                                  const struct gw_msg_printed *printed)
{
    uint64_t *untold = &run->untold_bytes[printed->stream == 2];
    if (!core->registered || core->scheduler_slow) {
        *untold += printed->left_out + printed->data.size;
        return;
    }
    struct gw_msg_printed *out =
        &gw_core_send(core, core->scheduler, GW_MESSAGE_printed)->message.printed;
    *out = *printed;
    out->left_out += *untold;
    out->data.data = gw_core_copy(core, printed->data.data, printed->data.size);
    *untold = 0;
}

void gw_progress_throttle_end(struct gw_node_core *core, const struct gw_attempt *run)
{
    if (run->rank != 0 && run->rank != GW_RANK_NONE)
        return;
    let_go(core, run->attempt);
    gw_metric_reports_flush(core, run->attempt);
}

void gw_progress_throttle_on_queued(struct gw_node_core *core, uint64_t bytes)
{
    size_t at = 0;
    uint64_t attempt, value;
    core->scheduler_slow = core->scheduler && bytes > GW_NODE_SLOW_BYTES;
    while (!core->scheduler_slow && gw_map_next(&core->throttled, &at, &attempt, &value)) {
        let_go(core, attempt);
        at = 0; /* the removal may have moved other entries: restart the walk */
    }
    if (!core->scheduler_slow)
        gw_metric_reports_on_read(core);
}
