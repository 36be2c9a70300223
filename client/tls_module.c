/* libgangway-tls.so: makes graph/wire/tls.c available to programs that connect to other hosts
 * (gpu/ring/ring_tls.h loads it). */
#include "graph/wire/tls.h"

#include <gangway/version.h>

extern GW_API const char gw_tls_module_version[];
GW_API int gw_tls_module_connect(int fd, const struct gw_tls_key *key,
                                 struct gw_transport **transport, struct gw_error *error);
GW_API int gw_tls_module_accept(int fd,
                                bool (*find)(const char *identity,
                                             uint8_t secret[GW_TLS_SECRET_BYTES], void *arg),
                                void *arg, struct gw_transport **transport, struct gw_error *error);

const char gw_tls_module_version[] = GANGWAY_VERSION;

int gw_tls_module_connect(int fd, const struct gw_tls_key *key, struct gw_transport **transport,
                          struct gw_error *error)
{
    return gw_tls_connect(fd, key, transport, error);
}

int gw_tls_module_accept(int fd,
                         bool (*find)(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES],
                                      void *arg),
                         void *arg, struct gw_transport **transport, struct gw_error *error)
{
    return gw_tls_accept(fd, find, arg, transport, error);
}
