/* The programs of a server: which connections they are sent to, and which jobs use them. */
#ifndef GW_SCHEDULER_NET_SERVER_PROGRAMS_H
#define GW_SCHEDULER_NET_SERVER_PROGRAMS_H

#include "scheduler/net/server_options.h"

struct gw_server;

/* gw_server_programs_open opens server->programs: see gw_programs_open. The core and the
 * connections may be made later. */
int gw_server_programs_open(struct gw_server *server, const struct gw_server_options *options,
                            struct gw_error *error);

#endif
