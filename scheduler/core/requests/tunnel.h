/* Tunnels: bytes between a client and the side of a task that runs, passed on as they come. */
#ifndef GW_SCHEDULER_CORE_REQUESTS_TUNNEL_H
#define GW_SCHEDULER_CORE_REQUESTS_TUNNEL_H

#include "scheduler/core/model/state.h"

/* gw_sched_on_tunnel_open checks a client's wish: it is passed to the worker where the rank runs,
 * waits until it does, or is refused. */
void gw_sched_on_tunnel_open(struct gw_sched *sched, struct gw_remote *remote,
                             const struct gw_msg_tunnel_open *open);

/* gw_sched_tunnel_from_client and gw_sched_tunnel_from_worker pass what one end says on to the
 * other. What belongs to a tunnel that is over is dropped. GW_EPROTO: it says more than it may. */
int gw_sched_tunnel_from_client(struct gw_sched *sched, struct gw_remote *remote,
                                const struct gw_message *message);
int gw_sched_tunnel_from_worker(struct gw_sched *sched, struct gw_worker *worker,
                                const struct gw_message *message);

/* gw_sched_tunnels_follow looks at those that wait, behind the assignments of the step. */
void gw_sched_tunnels_follow(struct gw_sched *sched);

/* gw_sched_tunnels_on_session_closed ends the tunnels of a client that is gone, and tells their
 * workers. */
void gw_sched_tunnels_on_session_closed(struct gw_sched *sched, gw_peer peer);

/* gw_sched_tunnels_check asserts that each has both its ends. */
void gw_sched_tunnels_check(const struct gw_sched *sched);

#endif
