/* Leaving.
 *
 * Always: nothing is taken on from the first word on, and what ran ends as at any other end, each
 * in its own grace, but in GW_LEAVE_NS at most; only then, with what was saved till the last
 * moment, the end of this worker itself waits for the scheduler, and again no longer than that, nor
 * for one that is not there. Told again, it waits for nobody. */
#include "worker/core/leave.h"

#include "graph/base/planted.h"
#include "worker/core/core.h"
#include "worker/core/drop.h"

#include <stdlib.h>

static void tell(struct gw_node_core *core, uint32_t empty)
{
    gw_core_send(core, core->scheduler, GW_MESSAGE_leaving)->message.leaving =
        (struct gw_msg_leaving){gw_core_text(core, core->leave.why), empty};
}

void gw_leave_begin(struct gw_node_core *core, const char *text)
{
    struct gw_leave *leave = &core->leave;
    const bool hastily = core->shutting_down || !text || GW_PLANTED(770);
    if (core->shutting_down || !core->registered || !text) {
        leave->may = true;
    } else {
        leave->why = gw_core_strdup(text);
        tell(core, 0);
    }
    gw_drop_shut_down(core, hastily ? 0 : GW_LEAVE_NS);
}

void gw_leave_let(struct gw_node_core *core)
{
    core->leave.may = true;
}

bool gw_leave_settle(struct gw_node_core *core)
{
    struct gw_leave *leave = &core->leave;
    if (!leave->why || leave->may || !core->registered)
        return true;
    if (!leave->told) {
        tell(core, 1);
        leave->told = true;
        leave->until_ns = core->now_ns + GW_LEAVE_NS;
    }
    return core->now_ns >= leave->until_ns || GW_PLANTED(742);
}

uint64_t gw_leave_deadline_ns(const struct gw_node_core *core)
{
    return core->leave.told && !core->exited ? core->leave.until_ns : UINT64_MAX;
}
