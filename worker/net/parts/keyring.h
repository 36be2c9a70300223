/* A keyring: how this worker and others prove to each other who they are.
 *
 * The scheduler gives each worker a secret of its own (`welcome`), and to whoever is to fetch there
 * a key derived from that (`neighbour`): one a pair and direction, known to the two and the
 * scheduler. So no key need travel ahead of a connection. */
#ifndef GW_NET_KEYRING_H
#define GW_NET_KEYRING_H

#include "graph/base/map.h"
#include "graph/wire/message.h"
#include "graph/wire/tls.h"

struct gw_keyring {
    uint8_t secret[GW_TLS_SECRET_BYTES];
    bool known;         /* the secret came */
    uint32_t worker;    /* this one's id */
    struct gw_map keys; /* worker -> struct gw_tls_key */
};

/* gw_keyring_on_welcome and gw_keyring_on_neighbour take what the scheduler sends; without a secret
 * of the right size nothing can be proven. */
void gw_keyring_on_welcome(struct gw_keyring *ring, const struct gw_msg_welcome *welcome);
void gw_keyring_on_neighbour(struct gw_keyring *ring, const struct gw_msg_neighbour *neighbour);
void gw_keyring_deinit(struct gw_keyring *ring);

/* gw_keyring_key gives the key to show to a worker; NULL without one. Borrowed until it is told
 * anew. */
const struct gw_tls_key *gw_keyring_key(const struct gw_keyring *ring, uint32_t worker);

/* gw_keyring_find is gw_tls_accept's; arg: the keyring. */
bool gw_keyring_find(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES], void *arg);

#endif
