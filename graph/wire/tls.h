/* TLS 1.3 over a connected socket, with external pre-shared keys (RFC 8446, 4.2.11) and without
 * certificates.
 *
 * The connecting side names a key (`identity`) and proves that it has the secret. The accepting
 * side looks up the secret and proves the same. Each connection has its own session keys
 * (psk_dhe_ke): a secret that leaks later does not decrypt recorded connections. Records are
 * collected, so that one system call sends many of them. */
#ifndef GW_WIRE_TLS_H
#define GW_WIRE_TLS_H

#include "graph/wire/transport.h"

#include <stdint.h>

enum {
    GW_TLS_SECRET_BYTES = 32,
    GW_TLS_IDENTITY_MAX = 127, /* characters */
};

/* The identity of worker N, and the label with which its keys are derived. */
#define GW_TLS_WORKER_LABEL "worker %u"

struct gw_tls_key {
    char identity[GW_TLS_IDENTITY_MAX + 1];
    uint8_t secret[GW_TLS_SECRET_BYTES];
};

/* gw_tls_connect makes the connecting side. The handshake happens in read and flush. It takes over
 * the non-blocking socket, also if it fails; the key is copied. Returns 0, or GW_ENOMEM or GW_EIO
 * with a text. */
int gw_tls_connect(int fd, const struct gw_tls_key *key, struct gw_transport **transport,
                   struct gw_error *error);

/* gw_tls_accept makes the accepting side. `find` writes the secret of an identity and returns true,
 * or returns false if the identity is unknown. It is called at most once, inside read or flush. */
int gw_tls_accept(int fd,
                  bool (*find)(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES],
                               void *arg),
                  void *arg, struct gw_transport **transport, struct gw_error *error);

/* gw_tls_identity returns the identity of the key that the other side has proven. On the connecting
 * side, it is the identity that this side named. Returns NULL until the handshake has finished. The
 * text is borrowed from the transport. */
const char *gw_tls_identity(const struct gw_transport *transport);

/* gw_tls_has_secret returns true if the connection uses this secret. */
bool gw_tls_has_secret(const struct gw_transport *transport,
                       const uint8_t secret[GW_TLS_SECRET_BYTES]);

/* gw_tls_ended returns true if the other side has closed the connection or its process has ended.
 * It returns false if the network broke the connection or the data was changed. */
bool gw_tls_ended(const struct gw_transport *transport);

/* gw_tls_refused returns true if the connection was refused: no process listened at the address. */
bool gw_tls_refused(const struct gw_transport *transport);

/* gw_tls_abandon makes the connection end without a closing message when it is freed. The other
 * side then sees a broken connection, not a closed one. Unsent data may be lost. */
void gw_tls_abandon(struct gw_transport *transport);

/* gw_tls_secret_equals compares two secrets in constant time. */
bool gw_tls_secret_equals(const uint8_t a[GW_TLS_SECRET_BYTES],
                          const uint8_t b[GW_TLS_SECRET_BYTES]);

/* gw_tls_secret_random makes a random secret. Returns 0 or GW_EIO. */
int gw_tls_secret_random(uint8_t secret[GW_TLS_SECRET_BYTES]);

/* gw_tls_secret_derive derives a secret for one purpose from another secret: HKDF with SHA-256 (RFC
 * 5869), without salt, with `label` as info. Returns 0 or GW_EIO. */
int gw_tls_secret_derive(const uint8_t secret[GW_TLS_SECRET_BYTES], const char *label,
                         uint8_t derived[GW_TLS_SECRET_BYTES]);

#endif
