/* Control messages to the ranks of a gang. */

#include "scheduler/core/send/control.h"

#include "scheduler/core/send/effect.h"

#include <msgpack.h>

void gw_sched_gang_control(struct gw_sched *sched, const struct gw_gang_try *gang, uint32_t command)
{
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    const struct gw_worker *last = NULL;
    for (uint32_t i = 0; i < gang->count; i++) {
        if (gang->ranks[i].slot == GW_NONE)
            continue; /* it has ended */
        const struct gw_worker *worker = sched->attempts.items[gang->ranks[i].slot].worker;
        if (worker == last || (i > 0 && spec->message.kind == GW_SPEC_FUNCTION))
            continue;
        last = worker;
        gw_sched_send(sched, worker->remote, GW_MESSAGE_control)->control =
            (struct gw_msg_control){gang->id, command};
    }
}
