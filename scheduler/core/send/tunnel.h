/* Tunnels: what their ends are told, and what follows if a worker is lost. */
#ifndef GW_SCHEDULER_CORE_SEND_TUNNEL_H
#define GW_SCHEDULER_CORE_SEND_TUNNEL_H

#include "scheduler/core/model/clients/tunnel.h"

/* gw_sched_tunnels_on_worker_lost ends the tunnels to a worker (its id) and tells their clients. */
void gw_sched_tunnels_on_worker_lost(struct gw_sched *sched, uint32_t id);

/* gw_sched_tunnel_answer answers a client's request for a tunnel (error->code 0: it is open). */
void gw_sched_tunnel_answer(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                            uint64_t tunnel, const struct gw_error *error);

/* gw_sched_tunnel_send_close tells a client or worker that a tunnel is closed, and why. */
void gw_sched_tunnel_send_close(struct gw_sched *sched, struct gw_remote *remote, uint64_t id,
                                const struct gw_error *error);

/* gw_sched_tunnel_tell_client tells its client, if connected, that a tunnel ends: by a close if it
 * is open, else by an answer. */
void gw_sched_tunnel_tell_client(struct gw_sched *sched, const struct gw_tunnel *tunnel,
                                 const struct gw_error *error);

#endif
