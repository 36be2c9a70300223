/* Tunnels between a client and a task: messages to both ends, and the end of tunnels if a worker is
 * lost. */
#ifndef GW_SCHEDULER_CORE_SEND_TUNNEL_H
#define GW_SCHEDULER_CORE_SEND_TUNNEL_H

#include "scheduler/core/model/clients/tunnel.h"

/* gw_sched_tunnels_on_worker_lost ends the tunnels to the worker with this id and tells their
 * clients. */
void gw_sched_tunnels_on_worker_lost(struct gw_sched *sched, uint32_t id);

/* gw_sched_tunnel_answer replies to a client's request for a tunnel. If error->code is 0, the
 * tunnel is open. */
void gw_sched_tunnel_answer(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                            uint64_t tunnel, const struct gw_error *error);

/* gw_sched_tunnel_send_close tells a client or a worker that a tunnel is closed, and why. */
void gw_sched_tunnel_send_close(struct gw_sched *sched, struct gw_remote *remote, uint64_t id,
                                const struct gw_error *error);

/* gw_sched_tunnel_tell_client tells the tunnel's client, if it is connected, that the tunnel ends.
 * If the tunnel is open, a close is sent, otherwise a reply to the request. */
void gw_sched_tunnel_tell_client(struct gw_sched *sched, const struct gw_tunnel *tunnel,
                                 const struct gw_error *error);

#endif
