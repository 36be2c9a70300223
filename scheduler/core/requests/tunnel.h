/* Tunnels: pass bytes between a client and a running task. */
#ifndef GW_SCHEDULER_CORE_REQUESTS_TUNNEL_H
#define GW_SCHEDULER_CORE_REQUESTS_TUNNEL_H

#include "scheduler/core/model/state.h"

/* gw_sched_on_tunnel_open handles a client's request for a tunnel. The request is passed to the
 * worker where the rank runs, waits until the rank runs, or is refused. */
void gw_sched_on_tunnel_open(struct gw_sched *sched, struct gw_remote *remote,
                             const struct gw_msg_tunnel_open *open);

/* gw_sched_tunnel_from_client and gw_sched_tunnel_from_worker pass a message of one end on to the
 * other end. A message of a closed tunnel is dropped. They return GW_EPROTO if the message is not
 * allowed in the state of the tunnel. */
int gw_sched_tunnel_from_client(struct gw_sched *sched, struct gw_remote *remote,
                                const struct gw_message *message);
int gw_sched_tunnel_from_worker(struct gw_sched *sched, struct gw_worker *worker,
                                const struct gw_message *message);

/* gw_sched_tunnels_follow tries the waiting tunnels, after the assignments were added to the step's
 * effects. */
void gw_sched_tunnels_follow(struct gw_sched *sched);

/* gw_sched_tunnels_on_session_closed ends the tunnels of a client whose session ends, and tells
 * their workers. */
void gw_sched_tunnels_on_session_closed(struct gw_sched *sched, gw_peer peer);

/* gw_sched_tunnels_check asserts that each tunnel has both of its ends. */
void gw_sched_tunnels_check(const struct gw_sched *sched);

#endif
