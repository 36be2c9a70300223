/* Decides when a folder counts as saved.
 *
 * Invariant: a folder that differs from the last report is reported sooner or later, however it
 * changes. A folder that has stopped changing is most likely complete. If a folder never stops
 * changing, files that are being written are incomplete, but otherwise there would be no copy at
 * all. */
#include "worker/store/sighting.h"

static bool is_due(struct gw_sighting *sighting, uint64_t now_ns)
{
    if (now_ns - sighting->changed_ns >= GW_SIGHTING_STILL_NS) {
        sighting->patience_ns = 0;
        return true;
    }
    uint64_t patience_ns = sighting->patience_ns ? sighting->patience_ns : GW_SIGHTING_BUSY_NS;
    if (now_ns - sighting->unsaid_ns < patience_ns)
        return false;
    sighting->patience_ns =
        patience_ns < GW_SIGHTING_BUSY_NS_MAX ? 2 * patience_ns : GW_SIGHTING_BUSY_NS_MAX;
    return true;
}

bool gw_sighting_take(struct gw_sighting *sighting, uint64_t stamp, uint64_t now_ns)
{
    if (!sighting->begun)
        sighting->told = sighting->seen = stamp;
    sighting->begun = true;
    if (stamp != sighting->seen) {
        sighting->seen = stamp;
        sighting->changed_ns = now_ns;
    }
    if (stamp == sighting->told)
        sighting->unsaid_ns = 0;
    else if (!sighting->unsaid_ns)
        sighting->unsaid_ns = now_ns;
    if (stamp == sighting->told || stamp == 0 || !is_due(sighting, now_ns))
        return false;
    sighting->told = stamp;
    sighting->unsaid_ns = 0;
    return true;
}
