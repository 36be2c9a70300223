/* The first message of a connection: who comes, and as whom the core hears of it. */
#ifndef GW_SCHEDULER_NET_HELLO_H
#define GW_SCHEDULER_NET_HELLO_H

#include "graph/wire/endpoint.h"
#include "graph/wire/step.h"

struct gw_connection;
struct gw_door;

enum { GW_HELLO_NAME_BYTES = 160 }; /* what a client is called, with its user */

struct gw_hello {
    struct gw_event event; /* OPEN; borrows from the message and from what follows */
    char name[GW_HELLO_NAME_BYTES];
    char address[GW_ENDPOINT_TEXT_MAX];
};

/* gw_hello_take takes the first message (borrowed as long as `taken` is used) of a connection and
 * notes there what a log says of it: its user and token, or its process. door: NULL where there is
 * no TCP. 0, or with text: GW_EPROTO where it is no hello, GW_EVERSION, GW_EPERM where who comes
 * may not, or what the kernel would not tell. */
int gw_hello_take(struct gw_hello *taken, struct gw_connection *connection,
                  const struct gw_door *door, const struct gw_message *message,
                  struct gw_error *error);

#endif
