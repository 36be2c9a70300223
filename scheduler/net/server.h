/* The server: sockets and timers around one scheduler core, on one thread with one loop.
 *
 * Messages of peers become events of the core, and effects of the core become messages. The
 * contents of programs do not pass through the core. */
#ifndef GW_SCHEDULER_NET_SERVER_H
#define GW_SCHEDULER_NET_SERVER_H

#include "scheduler/core/sched.h"
#include "scheduler/net/local.h"
#include "scheduler/net/server_options.h"

#include <uv.h>

struct gw_server;

/* gw_server_open restores the state from the folder `state` and listens. Returns GW_EEXIST if
 * another scheduler serves this folder, GW_EIO, an error of gw_journal_open, or an error of
 * gw_door_open if `listen` is set. */
int gw_server_open(uv_loop_t *loop, const struct gw_server_options *options,
                   struct gw_server **server, struct gw_error *error);

/* gw_server_address returns the TLS address "HOST:PORT", numeric, or NULL if the server does not
 * listen for TLS. */
const char *gw_server_address(const struct gw_server *server);

/* gw_server_knows_job returns true if a job with this id exists, also if it has ended. */
bool gw_server_knows_job(const struct gw_server *server, uint64_t job);

/* gw_server_worker_gone says that the worker of this name on this host and all its processes have
 * ended. The core does not wait for it to reconnect. */
void gw_server_worker_gone(struct gw_server *server, const char *name);

/* gw_server_has_worker returns true if the worker of this name takes part in the cluster. */
bool gw_server_has_worker(const struct gw_server *server, const char *name);

/* Limits that may change while a scheduler runs. */
struct gw_server_limits {
    struct gw_sched_limits sched;
    uint64_t audit_bytes_max, accounting_retention_ns; /* as in struct gw_server_options */
};

/* gw_server_follow makes the scheduler follow a policy (gw_sched_policy_set), and gw_server_limit
 * new limits. */
int gw_server_follow(struct gw_server *server, const struct gw_cluster_policy *policy,
                     struct gw_error *error);
void gw_server_limit(struct gw_server *server, const struct gw_server_limits *limits);

/* gw_server_shutdown asks the core to end all work. on_exit is called when it has ended. */
void gw_server_shutdown(struct gw_server *server, const char *reason);

/* gw_server_stop tells the core that this process ends and that work continues without it. on_exit
 * is called before this function returns. */
void gw_server_stop(struct gw_server *server);

/* gw_server_ends returns true if a shutdown of the cluster was requested. */
bool gw_server_ends(const struct gw_server *server);

/* gw_server_listen_again makes a new socket in another folder after the socket was removed. Returns
 * GW_EIO or an error of gw_local_open. After an error there is no socket, as before. */
int gw_server_listen_again(struct gw_server *server, const char *dir, const char *sockets,
                           struct gw_error *error);

/* gw_server_close closes all connections and the socket at once. Clients are told the reason `why`.
 * If it is NULL, they are told nothing and look for the next scheduler. stays: see gw_local_close.
 * The server is freed in a later turn of the loop. After that the loop does not wait for it. */
void gw_server_close(struct gw_server *server, const char *why, bool stays);

/* gw_server_look checks whether the socket in the cluster's folder is still this server's, and sets
 * *state_lost if the state was removed (gw_journal_lost). */
enum gw_local_place gw_server_look(const struct gw_server *server, bool *state_lost);

/* gw_server_idle_ns returns for how long no client was connected and no job was unfinished, or 0 if
 * the cluster is in use. */
uint64_t gw_server_idle_ns(const struct gw_server *server);

#endif
