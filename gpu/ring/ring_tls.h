/* TLS for the ring, loaded when it is needed: libgangway is loaded with every runner, and most of
 * them never leave their host. */
#ifndef GW_GPU_RING_TLS_H
#define GW_GPU_RING_TLS_H

#include "graph/wire/tls.h"

typedef bool gw_ring_tls_find(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES], void *arg);

/* gw_ring_tls_connect and gw_ring_tls_accept are gw_tls_connect and gw_tls_accept: of this program
 * where they are linked in, else of libgangway-tls.so, beside libgangway or where the loader looks.
 * Also GW_ENOTSUP where that is not to be found. */
int gw_ring_tls_connect(int fd, const struct gw_tls_key *key, struct gw_transport **transport,
                        struct gw_error *error);
int gw_ring_tls_accept(int fd, gw_ring_tls_find *find, void *arg, struct gw_transport **transport,
                       struct gw_error *error);

#endif
