/* The server: sockets and timers around one scheduler core. One thread, one loop.
 *
 * What peers send becomes events, effects become messages. Programs' contents never reach the core.
 */
#ifndef GW_SCHEDULER_NET_SERVER_H
#define GW_SCHEDULER_NET_SERVER_H

#include "scheduler/core/sched.h"
#include "scheduler/net/local.h"
#include "scheduler/net/server_options.h"

#include <uv.h>

struct gw_server;

/* gw_server_open takes up what `state` holds, and listens. GW_EEXIST when another scheduler serves
 * this folder, GW_EIO; what gw_journal_open gives; with `listen`, what gw_door_open gives. */
int gw_server_open(uv_loop_t *loop, const struct gw_server_options *options,
                   struct gw_server **server, struct gw_error *error);

/* gw_server_address is where it listens by TLS, "HOST:PORT", numeric; NULL where it does not. */
const char *gw_server_address(const struct gw_server *server);

/* gw_server_knows_job tells whether there is a job of this id, also one that has ended. */
bool gw_server_knows_job(const struct gw_server *server, uint64_t job);

/* gw_server_worker_gone says that the worker of this name on this host runs no more, and nothing of
 * its: nobody waits for it. */
void gw_server_worker_gone(struct gw_server *server, const char *name);

/* gw_server_has_worker tells whether the worker of this name takes part. */
bool gw_server_has_worker(const struct gw_server *server, const char *name);

/* gw_server_shutdown asks the core to end all work; on_exit follows. */
void gw_server_shutdown(struct gw_server *server, const char *reason);

/* gw_server_stop tells the core that this process ends and that its work goes on without it:
 * on_exit follows, before it returns. */
void gw_server_stop(struct gw_server *server);

/* gw_server_ends tells whether somebody has asked for that. */
bool gw_server_ends(const struct gw_server *server);

/* gw_server_listen_again makes the socket anew, in another folder, where it was removed. GW_EIO and
 * what gw_local_open gives: then there is none, as before. */
int gw_server_listen_again(struct gw_server *server, const char *dir, const char *sockets,
                           struct gw_error *error);

/* gw_server_close closes all connections and the socket at once; clients hear why (NULL: nothing,
 * and they look for the next scheduler). stays: as in gw_local_close. The server is freed in a
 * later turn of the loop, which then no longer waits for it. */
void gw_server_close(struct gw_server *server, const char *why, bool stays);

/* gw_server_look tells whether the socket in its folder is its own still, and whether its state is
 * lost, as gw_journal_lost has it. */
enum gw_local_place gw_server_look(const struct gw_server *server, bool *state_lost);

/* gw_server_idle_ns is for how long nobody has used this cluster; 0 while somebody does. */
uint64_t gw_server_idle_ns(const struct gw_server *server);

#endif
