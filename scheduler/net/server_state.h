/* The state of a server (server.h). Only the files of the server use this header. */
#ifndef GW_SCHEDULER_NET_SERVER_STATE_H
#define GW_SCHEDULER_NET_SERVER_STATE_H

#include "graph/base/map.h"
#include "graph/wire/acceptor.h"
#include "graph/wire/tokens.h"
#include "scheduler/accounting/accounting.h"
#include "scheduler/core/sched.h"
#include "scheduler/net/connection.h"
#include "scheduler/net/door.h"
#include "scheduler/net/local.h"
#include "scheduler/net/programs.h"
#include "scheduler/net/secrets.h"
#include "scheduler/net/server_options.h"
#include "scheduler/store/cluster_id.h"
#include "scheduler/store/journal.h"

#include <uv.h>

struct gw_server {
    uv_loop_t *loop;
    struct gw_server_options options;
    struct gw_sched *core;
    struct gw_effects effects;
    struct gw_programs *programs;
    struct gw_journal *journal;
    struct gw_accounting *accounting; /* NULL: none */
    struct gw_tokens tokens;
    struct gw_map connections; /* id -> struct gw_connection * */
    struct gw_greetings greetings;
    uint64_t next_peer;
    struct gw_acceptor *acceptor;
    struct gw_door *door; /* NULL: no TCP */
    uv_timer_t tick, beat;
    struct gw_local local;
    uint32_t open_handles; /* number of close callbacks that are still to be called */
    bool closing;
    char cluster[GW_CLUSTER_ID_BYTES];
    char owner[64];                /* user who owns the cluster; empty: unknown */
    struct gw_secrets secrets;     /* of this term */
    struct gw_server_audit *audit; /* NULL: none */
};

/* gw_server_find_connection returns an open connection by its id, or NULL. */
static inline struct gw_connection *gw_server_find_connection(const struct gw_server *server,
                                                              uint64_t id)
{
    uint64_t value;
    return gw_map_get(&server->connections, id, &value) ? (struct gw_connection *)(uintptr_t)value
                                                        : NULL;
}

#endif
