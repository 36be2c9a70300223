/* Derivation of keys. Invariant: the labels of different purposes differ in their first word, so
 * the secret of a worker never equals another key or the key of a gang. */
#include "scheduler/net/secrets.h"

#include <stdio.h>
#include <string.h>

#define GANG_LABEL "gang %llu"

int gw_secrets_init(struct gw_secrets *secrets, struct gw_error *error)
{
    int rc = gw_tls_secret_random(secrets->root);
    return rc < 0 ? gw_error_set(error, rc, "the system gives no random numbers, which keys need")
                  : 0;
}

void gw_secrets_deinit(struct gw_secrets *secrets)
{
    explicit_bzero(secrets, sizeof *secrets);
}

int gw_secrets_of_worker(const struct gw_secrets *secrets, uint32_t worker,
                         uint8_t secret[GW_TLS_SECRET_BYTES])
{
    char label[32];
    (void)snprintf(label, sizeof label, GW_TLS_WORKER_LABEL, worker);
    return gw_tls_secret_derive(secrets->root, label, secret);
}

/* Derives the key that `worker` shows to `neighbour`. The neighbour derives the same key from its
 * own secret. */
static int neighbour_key(const struct gw_secrets *secrets, uint32_t worker, uint32_t neighbour,
                         uint8_t key[GW_TLS_SECRET_BYTES])
{
    char label[32];
    uint8_t secret[GW_TLS_SECRET_BYTES];
    (void)snprintf(label, sizeof label, GW_TLS_WORKER_LABEL, worker);
    int rc = gw_secrets_of_worker(secrets, neighbour, secret);
    if (rc == 0)
        rc = gw_tls_secret_derive(secret, label, key);
    explicit_bzero(secret, sizeof secret);
    return rc;
}

static int gang_key(const struct gw_secrets *secrets, uint64_t attempt,
                    uint8_t key[GW_TLS_SECRET_BYTES])
{
    char label[32];
    (void)snprintf(label, sizeof label, GANG_LABEL, (unsigned long long)attempt);
    return gw_tls_secret_derive(secrets->root, label, key);
}

int gw_secrets_add(const struct gw_secrets *secrets, uint32_t worker, struct gw_message *message,
                   uint8_t room[GW_TLS_SECRET_BYTES])
{
    struct gw_bin *place;
    int rc;
    if (message->type == GW_MESSAGE_welcome && message->welcome.worker) {
        rc = gw_secrets_of_worker(secrets, worker, room);
        place = &message->welcome.secret;
    } else if (message->type == GW_MESSAGE_neighbour) {
        rc = neighbour_key(secrets, worker, message->neighbour.worker, room);
        place = &message->neighbour.key;
    } else if (message->type == GW_MESSAGE_gang && message->gang.groups > 1 &&
               !message->gang.commands) {
        rc = gang_key(secrets, message->gang.attempt, room);
        place = &message->gang.key;
    } else {
        return 0;
    }
    if (rc == 0)
        *place = (struct gw_bin){room, GW_TLS_SECRET_BYTES};
    return rc;
}
