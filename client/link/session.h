/* The session with a scheduler: begun at the first need, and asked things. */
#ifndef GW_CLIENT_SESSION_H
#define GW_CLIENT_SESSION_H

#include "client/link/rpc.h"

/* gw_session_connect takes what it speaks over and waits for the scheduler's welcome; hello: says
 * hello first, as a client. GW_ENOSCHEDULER, GW_ECLOSED, GW_EVERSION, GW_EPERM, GW_ENOMEM. */
int gw_session_connect(struct gw_client *client, const struct gw_io_socket *socket, bool hello,
                       struct gw_error *error);

/* gw_session_hello and gw_session_program are what a scheduler is told first: who speaks, and its
 * program. They borrow from the client, and from the program. */
struct gw_message gw_session_hello(const struct gw_client *client);
struct gw_message gw_session_program(const struct gw_program *program);

/* gw_session_start makes sure that there is a connection: starts the private cluster at the first
 * need. One of its own has at least `slots` slots afterwards. Blocks for at most 10 s. */
int gw_session_start(struct gw_client *client, uint32_t slots, struct gw_error *error);

/* gw_session_ship makes sure that the cluster has this program: hashes and sends it once. */
int gw_session_ship(struct gw_client *client, struct gw_error *error);

/* gw_session_ask is a whole call but its end: starts the session where it must (GW_ENOTSUP without
 * a cluster), opens the call, writes its number to *request (a field of the message), sends, and
 * waits. gw_rpc_close follows in any case. */
int gw_session_ask(struct gw_client *client, struct gw_rpc *call, struct gw_message *message,
                   uint64_t *request, uint64_t timeout_ns, struct gw_error *error);

#endif
