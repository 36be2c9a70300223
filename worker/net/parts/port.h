/* A TCP port that is reserved for a program that is about to start. */
#ifndef GW_NET_PORT_H
#define GW_NET_PORT_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_port {
    uint16_t number;
    int fd;      /* bound, never listening; -1: released */
    int name_fd; /* reserves the number against other leases */
};

/* gw_port_open finds a port that is free on all addresses, and reserves it. Returns GW_EIO and sets
 * the error if there is none. */
int gw_port_open(struct gw_port *port, struct gw_error *error);

/* gw_port_unbind releases the port, so that its program can bind it. No other lease gets the number
 * until gw_port_close, which must be called once per open. */
void gw_port_unbind(struct gw_port *port);
void gw_port_close(struct gw_port *port);

/* gw_port_is_taken returns true if another program has bound a released port. Connections that have
 * ended do not count. */
bool gw_port_is_taken(const struct gw_port *port);

#endif
