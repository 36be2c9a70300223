/* A rendezvous: where the ranks of one attempt that use Horovod find each other, over HTTP.
 *
 * It holds values by scope and key: PUT /scope/key stores, GET gives (404: not yet), DELETE drops
 * the key. Until somebody connects it is one socket that listens. */
#ifndef GW_NET_RENDEZVOUS_H
#define GW_NET_RENDEZVOUS_H

#include <gangway/error.h>
#include <stdint.h>
#include <uv.h>

enum {
    GW_RENDEZVOUS_VALUE_BYTES_MAX = 1 << 20,
    GW_RENDEZVOUS_BYTES_MAX = 256 << 20, /* of all keys and values */
};

struct gw_rendezvous;

/* gw_rendezvous_open listens at a port of a numeric address, which it gives. GW_EIO, GW_EINVAL with
 * text. gw_rendezvous_close drops all; connections end. Both on the loop's thread. */
int gw_rendezvous_open(uv_loop_t *loop, const char *address, struct gw_rendezvous **rendezvous,
                       uint16_t *port, struct gw_error *error);
void gw_rendezvous_close(struct gw_rendezvous *rendezvous);

#endif
