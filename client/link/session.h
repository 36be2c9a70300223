/* The session with a scheduler: started by the first call that needs it, and used for requests. */
#ifndef GW_CLIENT_SESSION_H
#define GW_CLIENT_SESSION_H

#include "client/link/rpc.h"

/* gw_session_connect takes ownership of the socket, starts the connection and waits for the
 * scheduler's welcome. If `hello` is true, it first sends a hello message with the role of a
 * client. Errors: GW_ENOSCHEDULER, GW_ECLOSED, GW_EVERSION, GW_EPERM, GW_ENOMEM. */
int gw_session_connect(struct gw_client *client, const struct gw_io_socket *socket, bool hello,
                       struct gw_error *error);

/* gw_session_hello and gw_session_program make the first messages to a scheduler, which introduce
 * the client and its program. The messages borrow from the client and from the program. */
struct gw_message gw_session_hello(const struct gw_client *client);
struct gw_message gw_session_program(const struct gw_program *program);

/* gw_session_start makes sure that the client is connected. The first call starts a private
 * cluster. A private cluster has at least `slots` slots afterwards. It blocks for at most 10 s. */
int gw_session_start(struct gw_client *client, uint32_t slots, struct gw_error *error);

/* gw_session_need starts the session for a call that needs a cluster. GW_ENOTSUP: with
 * GANGWAY_INLINE=1 there is none. */
int gw_session_need(struct gw_client *client, struct gw_error *error);

/* gw_session_ship makes sure that the cluster has this program: it hashes the program and sends it
 * once. */
int gw_session_ship(struct gw_client *client, struct gw_error *error);

/* gw_session_ask does all steps of a call except gw_rpc_close: it starts the session if necessary,
 * opens the call, writes its number to *request (a field of the message), sends the message, and
 * waits. GW_ENOTSUP: there is no cluster with GANGWAY_INLINE=1. The caller always calls
 * gw_rpc_close, also after a failure. */
int gw_session_ask(struct gw_client *client, struct gw_rpc *call, struct gw_message *message,
                   uint64_t *request, uint64_t timeout_ns, struct gw_error *error);

#endif
