/* Limits how often a repeated failure is logged. */
#include "worker/net/parts/complaint.h"

#include "graph/base/clock.h"

#include <stdio.h>
#include <string.h>

#define AGAIN_NS (60 * GW_NS_PER_S)

bool gw_complaint_is_due(struct gw_complaint *complaint, const char *text, uint64_t now_ns,
                         uint32_t *times)
{
    const bool same =
        complaint->said_ns > 0 && strncmp(complaint->text, text, sizeof complaint->text - 1) == 0;
    complaint->times++;
    *times = complaint->times;
    if (same && now_ns - complaint->said_ns < AGAIN_NS)
        return false;
    if (!same)
        *times = 1;
    (void)snprintf(complaint->text, sizeof complaint->text, "%s", text);
    complaint->said_ns = now_ns;
    complaint->times = 0;
    return true;
}
