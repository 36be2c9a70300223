/* TLS for the ring. The TLS module is loaded at first use, because every runner loads libgangway
 * and most runners have no connection to other hosts. */
#ifndef GW_GPU_RING_TLS_H
#define GW_GPU_RING_TLS_H

#include "graph/wire/tls.h"

typedef bool gw_ring_tls_find(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES], void *arg);

/* gw_ring_tls_connect and gw_ring_tls_accept call gw_tls_connect and gw_tls_accept. They use these
 * functions of the program itself, if it was linked with them, else of libgangway-tls.so (beside
 * libgangway or in the search path of the loader). Return GW_ENOTSUP if the module is not found. */
int gw_ring_tls_connect(int fd, const struct gw_tls_key *key, struct gw_transport **transport,
                        struct gw_error *error);
int gw_ring_tls_accept(int fd, gw_ring_tls_find *find, void *arg, struct gw_transport **transport,
                       struct gw_error *error);

#endif
