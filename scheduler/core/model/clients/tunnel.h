/* Tunnels: their tables, and what a fact does to one. */
#ifndef GW_SCHEDULER_CORE_CLIENTS_TUNNEL_H
#define GW_SCHEDULER_CORE_CLIENTS_TUNNEL_H

#include "scheduler/core/model/state.h"

enum { GW_TUNNEL_WAITING, TUNNEL_PASSED, TUNNEL_STANDS, TUNNEL_ENDED };

struct gw_tunnel {
    uint64_t id;
    uint8_t state;
    gw_peer peer;
    uint32_t worker; /* id; 0: not passed yet */
    struct gw_msg_tunnel_open open;
    void *argv; /* owned; open.argv's */
};

/* gw_sched_tunnels_deinit frees all. */
void gw_sched_tunnels_deinit(struct gw_sched *sched);

#endif
