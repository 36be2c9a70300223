/* A rendezvous: an HTTP server at which the ranks of an attempt that use Horovod exchange
 * addresses.
 *
 * It stores values by scope and key: PUT /scope/key stores a value, GET returns it (404: not stored
 * yet), DELETE removes it. Until a client connects, it is only a listening socket. */
#ifndef GW_NET_RENDEZVOUS_H
#define GW_NET_RENDEZVOUS_H

#include <gangway/error.h>
#include <stdint.h>
#include <uv.h>

enum {
    GW_RENDEZVOUS_VALUE_BYTES_MAX = 1 << 20,
    GW_RENDEZVOUS_BYTES_MAX = 256 << 20, /* of all keys and values together */
};

struct gw_rendezvous;

/* gw_rendezvous_open listens at a free port of a numeric address and returns the port. It returns
 * GW_EIO or GW_EINVAL and sets the error if this fails. gw_rendezvous_close ends all connections
 * and frees all values. Both must be called on the loop's thread. */
int gw_rendezvous_open(uv_loop_t *loop, const char *address, struct gw_rendezvous **rendezvous,
                       uint16_t *port, struct gw_error *error);
void gw_rendezvous_close(struct gw_rendezvous *rendezvous);

#endif
