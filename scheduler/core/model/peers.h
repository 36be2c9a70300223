/* Remotes and sessions: the other ends of connections. See state.h. */
#ifndef GW_SCHEDULER_CORE_MODEL_PEERS_H
#define GW_SCHEDULER_CORE_MODEL_PEERS_H

#include "graph/base/map.h"
#include "graph/wire/step.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/outgoing.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_job;
struct gw_sync_lease;
struct gw_sync_waiter;
struct gw_worker;

/* The other end of a connection. */
struct gw_remote {
    gw_peer peer;
    uint64_t id;               /* used in message envelopes */
    uint32_t role, uid, owner; /* owner: the user to whom a worker belongs */
    bool admin;                /* may act on the jobs of all users */
    char *name;
    char address[64];    /* host that it connected from; empty: this host */
    uint64_t seen, sent; /* sequence numbers of the last received and sent message */
    struct gw_session *session;
    struct gw_worker *worker;
};

struct gw_session {
    struct gw_remote *remote;
    struct gw_session *prev, *next;
    struct gw_job *jobs;    /* list linked by session_next */
    struct gw_map requests; /* requests whose job is incomplete -> struct gw_job * */
    struct gw_map refused;  /* refused requests of which more messages may arrive */
    struct gw_done_rows done;
    struct gw_map shares;                /* request -> struct gw_share * */
    struct gw_sync_waiter *sync_waiters; /* its waiting coordination requests */
    struct gw_sync_lease *sync_leases;   /* its coordination leases */
    uint32_t attempt; /* if the client runs inside an attempt, the index of this attempt in the
                         table of attempts; otherwise GW_NO_INDEX */
    struct gw_session *inside_prev, *inside_next; /* other sessions inside the same attempt */
    uint64_t age;                                 /* age of jobs that it submits; 0: their own id */
    uint32_t depth;
    bool of_command; /* the client runs inside a command: its detached jobs get an age of their own
                        and depth 0 */
    struct gw_scattered scattered; /* scattered values of its jobs that the scheduler holds */
};

/* A session to be told the end of a task, with the request and index that identify the task for it.
 */
struct gw_hearer {
    struct gw_session *session;
    uint64_t request;
    uint32_t index;
};

#endif
