/* A keyring: keys by which workers prove their identity to each other.
 *
 * The scheduler gives each worker a secret (message `welcome`). It gives a worker that must connect
 * to another one a key derived from the other's secret (message `neighbour`). There is one key per
 * pair and direction, known only to the two workers and the scheduler. So no key must be sent to
 * the other worker before a connection. */
#ifndef GW_NET_KEYRING_H
#define GW_NET_KEYRING_H

#include "graph/base/map.h"
#include "graph/wire/message.h"
#include "graph/wire/tls.h"

struct gw_keyring {
    uint8_t secret[GW_TLS_SECRET_BYTES];
    bool known;         /* the secret has arrived */
    uint32_t worker;    /* number of this worker */
    struct gw_map keys; /* worker -> struct gw_tls_key */
};

/* gw_keyring_on_welcome and gw_keyring_on_neighbour store what the scheduler has sent. If the
 * secret has the wrong size, no identity can be proven. */
void gw_keyring_on_welcome(struct gw_keyring *ring, const struct gw_msg_welcome *welcome);
void gw_keyring_on_neighbour(struct gw_keyring *ring, const struct gw_msg_neighbour *neighbour);
void gw_keyring_deinit(struct gw_keyring *ring);

/* gw_keyring_key returns the key for connecting to a worker, or NULL. It is valid until the next
 * message about that worker. */
const struct gw_tls_key *gw_keyring_key(const struct gw_keyring *ring, uint32_t worker);

/* gw_keyring_find is the look-up callback of gw_tls_accept. arg is the keyring. */
bool gw_keyring_find(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES], void *arg);

#endif
