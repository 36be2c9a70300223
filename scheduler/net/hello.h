/* The first message of a connection: it identifies the peer for the core. */
#ifndef GW_SCHEDULER_NET_HELLO_H
#define GW_SCHEDULER_NET_HELLO_H

#include "graph/wire/step.h"

struct gw_connection;
struct gw_door;

enum { GW_HELLO_NAME_BYTES = 160 }; /* name of a client with its user */

struct gw_hello {
    struct gw_event event; /* an OPEN event; borrows from the message and the fields below */
    char name[GW_HELLO_NAME_BYTES];
};

/* gw_hello_take checks the first message of a connection and fills `taken`. The message is borrowed
 * while `taken` is used. It also notes the user and token, or the process, in the connection for
 * the log. door: NULL if the scheduler does not use TCP. Returns 0, or an error with a text:
 * GW_EPROTO if the message is not a hello, GW_EVERSION if the versions differ, GW_EPERM if the peer
 * is not allowed, or an error of the kernel. */
int gw_hello_take(struct gw_hello *taken, struct gw_connection *connection,
                  const struct gw_door *door, const struct gw_message *message,
                  struct gw_error *error);

#endif
