/* State of tunnels, and the changes of it. */
#include "scheduler/core/model/clients/tunnel.h"

#include <stdlib.h>
#include <string.h>

static const struct gw_sm_state tunnel_states[] = {
    [GW_TUNNEL_WAITING] = {"waiting", GW_SM_NEXT(TUNNEL_PASSED) | GW_SM_NEXT(TUNNEL_ENDED)},
    [TUNNEL_PASSED] = {"passed", GW_SM_NEXT(TUNNEL_STANDS) | GW_SM_NEXT(TUNNEL_ENDED)},
    [TUNNEL_STANDS] = {"stands", GW_SM_NEXT(TUNNEL_ENDED)},
    [TUNNEL_ENDED] = {"ended", 0},
};

struct gw_sm gw_sched_tunnel_sm = {"tunnel", tunnel_states, 4, NULL};

void gw_sched_tunnel_ask(struct gw_sched *sched, const struct gw_tunnel *asked)
{
    struct gw_tunnel *tunnel = malloc(sizeof *tunnel);
    GW_MUST_PTR(tunnel);
    *tunnel = *asked;
    tunnel->argv = malloc(tunnel->open.argv.size ? tunnel->open.argv.size : 1);
    GW_MUST_PTR(tunnel->argv);
    if (tunnel->open.argv.size)
        memcpy(tunnel->argv, tunnel->open.argv.data, tunnel->open.argv.size);
    tunnel->open.argv.data = tunnel->argv;
    tunnel->id = ++sched->next_tunnel;
    tunnel->state = GW_TUNNEL_WAITING;
    GW_MUST(gw_map_put(&sched->tunnels, tunnel->id, (uintptr_t)tunnel));
    sched->tunnels_waiting++;
}

void gw_sched_tunnel_pass(struct gw_sched *sched, struct gw_tunnel *tunnel,
                          const struct gw_worker *worker)
{
    gw_sm_move(&gw_sched_tunnel_sm, &tunnel->state, TUNNEL_PASSED);
    tunnel->worker = worker->id;
    sched->tunnels_waiting--;
}

void gw_sched_tunnel_stand(struct gw_tunnel *tunnel)
{
    gw_sm_move(&gw_sched_tunnel_sm, &tunnel->state, TUNNEL_STANDS);
}

void gw_sched_tunnels_deinit(struct gw_sched *sched)
{
    uint64_t id, value;
    for (size_t at = 0; gw_map_next(&sched->tunnels, &at, &id, &value);) {
        struct gw_tunnel *tunnel = (struct gw_tunnel *)(uintptr_t)value;
        free(tunnel->argv);
        free(tunnel);
    }
    gw_map_deinit(&sched->tunnels);
}

void gw_sched_tunnel_end(struct gw_sched *sched, struct gw_tunnel *tunnel)
{
    if (tunnel->state == GW_TUNNEL_WAITING)
        sched->tunnels_waiting--;
    gw_sm_move(&gw_sched_tunnel_sm, &tunnel->state, TUNNEL_ENDED);
    (void)gw_map_remove(&sched->tunnels, tunnel->id);
    free(tunnel->argv);
    free(tunnel);
}
