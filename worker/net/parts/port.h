/* A TCP port kept for a program that is about to start. */
#ifndef GW_NET_PORT_H
#define GW_NET_PORT_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_port {
    uint16_t number;
    int fd;      /* bound, never listening; -1: let go */
    int name_fd; /* keeps the number from other leases */
};

/* gw_port_open finds a port that is free on all addresses, and keeps it. GW_EIO with text. */
int gw_port_open(struct gw_port *port, struct gw_error *error);

/* gw_port_unbind lets its program bind it; no other lease is given its number until gw_port_close,
 * which is once for each open. */
void gw_port_unbind(struct gw_port *port);
void gw_port_close(struct gw_port *port);

/* gw_port_is_taken tells, of a port that was let go, whether somebody has bound it; connections
 * that have ended do not count. */
bool gw_port_is_taken(const struct gw_port *port);

#endif
