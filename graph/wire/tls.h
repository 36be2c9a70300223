/* TLS 1.3 over a connected socket, by external pre-shared keys (RFC 8446, 4.2.11): no certificates.
 *
 * Whoever connects names a key (`identity`) and proves that it has the secret; who accepts looks
 * the secret up and proves the same. Each connection has keys of its own (psk_dhe_ke): a secret
 * that leaks later does not open what was recorded. Records gather, so that one system call carries
 * many of them. */
#ifndef GW_WIRE_TLS_H
#define GW_WIRE_TLS_H

#include "graph/wire/transport.h"

#include <stdint.h>

enum {
    GW_TLS_SECRET_BYTES = 32,
    GW_TLS_IDENTITY_MAX = 127, /* characters */
};

/* The identity of worker N, and the label by which keys for it are derived. */
#define GW_TLS_WORKER_LABEL "worker %u"

struct gw_tls_key {
    char identity[GW_TLS_IDENTITY_MAX + 1];
    uint8_t secret[GW_TLS_SECRET_BYTES];
};

/* gw_tls_connect makes the connecting side; the handshake goes on in read and flush. Takes the
 * non-blocking socket, also when it fails; the key is copied. 0, GW_ENOMEM or GW_EIO with text. */
int gw_tls_connect(int fd, const struct gw_tls_key *key, struct gw_transport **transport,
                   struct gw_error *error);

/* gw_tls_accept makes the accepting side. `find` writes the secret of an identity and returns true,
 * or false where there is none; it is called at most once, inside of read or flush. */
int gw_tls_accept(int fd,
                  bool (*find)(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES],
                               void *arg),
                  void *arg, struct gw_transport **transport, struct gw_error *error);

/* gw_tls_identity is the key's that the other side has proven (who connects: that it named, once
 * the other side has proven it); NULL until the handshake is over. Borrowed from the transport. */
const char *gw_tls_identity(const struct gw_transport *transport);

/* gw_tls_has_secret tells whether the connection was made by this secret. */
bool gw_tls_has_secret(const struct gw_transport *transport,
                       const uint8_t secret[GW_TLS_SECRET_BYTES]);

/* gw_tls_ended tells whether the other side has closed the connection, or its process has ended;
 * false where something between the two broke it, or changed what they said. */
bool gw_tls_ended(const struct gw_transport *transport);

/* gw_tls_refused tells whether connecting was: no process was there to take the connection. */
bool gw_tls_refused(const struct gw_transport *transport);

/* gw_tls_abandon has the connection end without a farewell when it is freed, so that the other side
 * does not take it for closed, but for broken. What was not sent yet may be lost. */
void gw_tls_abandon(struct gw_transport *transport);

/* gw_tls_secret_equals compares in a time that says nothing of where they differ. */
bool gw_tls_secret_equals(const uint8_t a[GW_TLS_SECRET_BYTES],
                          const uint8_t b[GW_TLS_SECRET_BYTES]);

/* gw_tls_secret_random makes a secret. 0 or GW_EIO. */
int gw_tls_secret_random(uint8_t secret[GW_TLS_SECRET_BYTES]);

/* gw_tls_secret_derive makes the secret of a purpose from a secret: HKDF with SHA-256 (RFC 5869),
 * no salt, `label` as its info. 0 or GW_EIO. */
int gw_tls_secret_derive(const uint8_t secret[GW_TLS_SECRET_BYTES], const char *label,
                         uint8_t derived[GW_TLS_SECRET_BYTES]);

#endif
