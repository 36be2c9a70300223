/* The state of the health checks. One reason is told, that of the first check that fails. The clock
 * is told apart: if most workers differ, the scheduler's clock is wrong. */
#include "worker/core/link/health.h"

#include "worker/core/model/core.h"

#include <assert.h>
#include <stdlib.h>

enum { PASSES = 2 };

void gw_health_deinit(struct gw_node_core *core)
{
    for (uint32_t i = 0; i < GW_HEALTH_CHECKS; i++)
        free(core->health.why[i]);
}

void gw_health_on_checked(struct gw_node_core *core, const struct gw_event *event)
{
    struct gw_health *health = &core->health;
    const uint64_t check = event->number;
    assert(check < GW_HEALTH_CHECKS && core->options.health_checks >> check & 1);
    health->known |= UINT32_C(1) << check;
    if (*event->text) {
        free(health->why[check]);
        health->why[check] = gw_core_strdup(event->text);
        health->passes[check] = 0;
        health->told = false;
        if (check == GW_HEALTH_CLOCK)
            health->clock_s = event->code;
    } else if (health->why[check] && ++health->passes[check] == PASSES) {
        free(health->why[check]);
        health->why[check] = NULL;
        health->told = false;
    }
}

void gw_health_on_registered(struct gw_node_core *core)
{
    core->health.told = false;
}

void gw_health_limit(struct gw_node_core *core, uint32_t checks)
{
    const bool ended = !checks && (core->options.health_checks || core->health.ended);
    gw_health_deinit(core);
    core->health = (struct gw_health){.ended = ended};
    core->options.health_checks = checks;
}

void gw_health_settle(struct gw_node_core *core)
{
    struct gw_health *health = &core->health;
    const char *why = NULL, *clock = health->why[GW_HEALTH_CLOCK];
    if (health->told || (!core->options.health_checks && !health->ended) || !core->registered)
        return;
    for (uint32_t i = 0; i < GW_HEALTH_CHECKS && !why; i++)
        why = i == GW_HEALTH_CLOCK ? NULL : health->why[i];
    if (health->known != core->options.health_checks && !why && !clock)
        return;
    gw_core_send(core, core->scheduler, GW_MESSAGE_health)->message.health =
        (struct gw_msg_health){.why = gw_core_text(core, why ? why : ""),
                               .clock = gw_core_text(core, clock ? clock : ""),
                               .clock_s = clock ? health->clock_s : 0};
    health->told = true;
}
