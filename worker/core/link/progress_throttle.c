/* What tasks say of how far they are, on its way to the scheduler, which shows the newest only.
 *
 * Always: while the scheduler is slow to read, at most one `progress` and one `metric` a task is
 * kept here, the newest, and goes when it reads again, or just before the task's end. Nothing else
 * is ever held back. */
#include "worker/core/link/progress_throttle.h"

#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"

#include <stdlib.h>

/* Texts are owned. */
struct throttled {
    struct gw_msg_progress progress;
    struct gw_msg_metric metric;
    char *text, *name; /* NULL: there is none of that kind */
};

static struct throttled *find(const struct gw_node_core *core, uint64_t attempt)
{
    uint64_t value;
    return core->throttled.count && gw_map_get(&core->throttled, attempt, &value)
               ? (struct throttled *)(uintptr_t)value
               : NULL;
}

static void keep(struct gw_node_core *core, uint64_t attempt, const struct gw_message *message)
{
    struct throttled *throttled = find(core, attempt);
    if (!throttled) {
        throttled = gw_core_alloc(sizeof *throttled);
        GW_MUST(gw_map_put(&core->throttled, attempt, (uintptr_t)throttled));
    }
    if (message->type == GW_MESSAGE_progress) {
        free(throttled->text);
        throttled->progress = message->progress;
        throttled->text = gw_core_strdup(message->progress.text);
    } else {
        free(throttled->name);
        throttled->metric = message->metric;
        throttled->name = gw_core_strdup(message->metric.name);
    }
}

/* Sends what is kept of it, and forgets it. */
static void let_go(struct gw_node_core *core, uint64_t attempt)
{
    struct throttled *throttled = find(core, attempt);
    if (!throttled)
        return;
    if (throttled->name && core->registered) {
        throttled->metric.name = gw_core_text(core, throttled->name);
        gw_core_send(core, core->scheduler, GW_MESSAGE_metric)->message.metric = throttled->metric;
    }
    if (throttled->text && core->registered) {
        throttled->progress.text = gw_core_text(core, throttled->text);
        gw_core_send(core, core->scheduler, GW_MESSAGE_progress)->message.progress =
            throttled->progress;
    }
    (void)gw_map_remove(&core->throttled, attempt);
    free(throttled->text);
    free(throttled->name);
    free(throttled);
}

void gw_progress_throttle_tell(struct gw_node_core *core, const struct gw_attempt *run,
                               const struct gw_message *message)
{
    if (!core->registered)
        return;
    if (core->scheduler_slow && (run->rank == 0 || run->rank == GW_RANK_NONE))
        keep(core, run->attempt, message);
    else if (!core->scheduler_slow && message->type == GW_MESSAGE_progress)
        gw_core_send(core, core->scheduler, message->type)->message.progress = message->progress;
    else if (!core->scheduler_slow)
        gw_core_send(core, core->scheduler, message->type)->message.metric = message->metric;
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
    if (core->throttled.count && (run->rank == 0 || run->rank == GW_RANK_NONE))
        let_go(core, run->attempt);
}

void gw_progress_throttle_on_queued(struct gw_node_core *core, uint64_t bytes)
{
    size_t at = 0;
    uint64_t attempt, value;
    core->scheduler_slow = core->scheduler && bytes > GW_NODE_SLOW_BYTES;
    while (!core->scheduler_slow && gw_map_next(&core->throttled, &at, &attempt, &value)) {
        let_go(core, attempt);
        at = 0; /* it may have moved others */
    }
}
