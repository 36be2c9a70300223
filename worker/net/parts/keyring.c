/* Keys of other workers. An identity is the label from which its key is derived, as in "worker 7".
 */
#include "worker/net/parts/keyring.h"

#include "graph/base/must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void forget_keys(struct gw_keyring *ring)
{
    size_t at = 0;
    uint64_t worker, value;
    while (gw_map_next(&ring->keys, &at, &worker, &value))
        free((void *)(uintptr_t)value);
    gw_map_deinit(&ring->keys);
    ring->keys = (struct gw_map){0};
}

void gw_keyring_on_welcome(struct gw_keyring *ring, const struct gw_msg_welcome *welcome)
{
    forget_keys(ring); /* the keys belong to an earlier term of the scheduler */
    ring->worker = welcome->worker;
    ring->known = welcome->secret.size == sizeof ring->secret;
    if (ring->known)
        memcpy(ring->secret, welcome->secret.data, sizeof ring->secret);
}

void gw_keyring_on_neighbour(struct gw_keyring *ring, const struct gw_msg_neighbour *neighbour)
{
    uint64_t value;
    if (neighbour->key.size != GW_TLS_SECRET_BYTES)
        return;
    struct gw_tls_key *key = gw_map_get(&ring->keys, neighbour->worker, &value)
                                 ? (struct gw_tls_key *)(uintptr_t)value
                                 : calloc(1, sizeof *key);
    GW_MUST_PTR(key);
    (void)snprintf(key->identity, sizeof key->identity, GW_TLS_WORKER_LABEL, ring->worker);
    memcpy(key->secret, neighbour->key.data, sizeof key->secret);
    GW_MUST(gw_map_put(&ring->keys, neighbour->worker, (uintptr_t)key));
}

void gw_keyring_deinit(struct gw_keyring *ring)
{
    forget_keys(ring);
    memset(ring->secret, 0, sizeof ring->secret);
    ring->known = false;
}

const struct gw_tls_key *gw_keyring_key(const struct gw_keyring *ring, uint32_t worker)
{
    uint64_t value;
    return gw_map_get(&ring->keys, worker, &value) ? (const struct gw_tls_key *)(uintptr_t)value
                                                   : NULL;
}

bool gw_keyring_find(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES], void *arg)
{
    const struct gw_keyring *ring = arg;
    return ring->known && gw_tls_secret_derive(ring->secret, identity, secret) == 0;
}
