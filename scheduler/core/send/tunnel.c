/* Tunnels between a client and a task: messages to both ends, and the end of tunnels if a worker is
 * lost. */

#include "scheduler/core/send/tunnel.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/send.h"

void gw_sched_tunnel_answer(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                            uint64_t tunnel, const struct gw_error *error)
{
    struct gw_msg_tunnel_opened *opened =
        &gw_sched_send(sched, remote, GW_MESSAGE_tunnel_opened)->tunnel_opened;
    opened->request = request;
    opened->tunnel = tunnel;
    opened->code = error->code;
    opened->text = error->code ? gw_sched_send_text(sched, error->text) : "";
}

void gw_sched_tunnel_send_close(struct gw_sched *sched, struct gw_remote *remote, uint64_t id,
                                const struct gw_error *error)
{
    struct gw_msg_tunnel_close *close =
        &gw_sched_send(sched, remote, GW_MESSAGE_tunnel_close)->tunnel_close;
    close->tunnel = id;
    close->code = error->code;
    close->text = error->code ? gw_sched_send_text(sched, error->text) : "";
}

void gw_sched_tunnel_tell_client(struct gw_sched *sched, const struct gw_tunnel *tunnel,
                                 const struct gw_error *error)
{
    struct gw_remote *remote = gw_sched_access_remote(sched, tunnel->peer);
    if (remote && tunnel->state == TUNNEL_STANDS)
        gw_sched_tunnel_send_close(sched, remote, tunnel->id, error);
    else if (remote)
        gw_sched_tunnel_answer(sched, remote, tunnel->open.request, tunnel->id, error);
}

void gw_sched_tunnels_on_worker_lost(struct gw_sched *sched, uint32_t lost)
{
    uint64_t id, value;
    struct gw_error error = {0};
    gw_error_set(&error, GW_ELOST, "the worker was lost");
    for (size_t at = 0; gw_map_next(&sched->tunnels, &at, &id, &value);) {
        struct gw_tunnel *tunnel = (struct gw_tunnel *)(uintptr_t)value;
        if (tunnel->worker != lost)
            continue;
        gw_sched_tunnel_tell_client(sched, tunnel, &error);
        gw_sched_tunnel_end(sched, tunnel);
        at = 0;
    }
}
