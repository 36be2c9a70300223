/* State of tunnels, and the changes of it. */
#ifndef GW_SCHEDULER_CORE_CLIENTS_TUNNEL_H
#define GW_SCHEDULER_CORE_CLIENTS_TUNNEL_H

#include "scheduler/core/model/state.h"

enum { GW_TUNNEL_WAITING, TUNNEL_PASSED, TUNNEL_STANDS, TUNNEL_ENDED };

struct gw_tunnel {
    uint64_t id;
    uint8_t state;
    gw_peer peer;
    uint32_t worker; /* worker id; 0: not passed to a worker yet */
    struct gw_msg_tunnel_open open;
    void *argv; /* owned copy of open.argv */
};

/* gw_sched_tunnels_deinit frees all tunnels. */
void gw_sched_tunnels_deinit(struct gw_sched *sched);

/* The states of a tunnel: a client has asked for it, the request was passed to the worker, the
 * tunnel is open, or it has ended. */
void gw_sched_tunnel_ask(struct gw_sched *sched, const struct gw_tunnel *asked);
void gw_sched_tunnel_end(struct gw_sched *sched, struct gw_tunnel *tunnel);
void gw_sched_tunnel_pass(struct gw_sched *sched, struct gw_tunnel *tunnel,
                          const struct gw_worker *worker);
void gw_sched_tunnel_stand(struct gw_tunnel *tunnel);

#endif
