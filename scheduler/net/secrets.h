/* Secrets: what the scheduler tells workers, so that they and their ranks know each other.
 *
 * All of them are derived from one that is made anew in each life of a scheduler and never leaves
 * it: so nothing of them is stored, and who has one cannot make another. */
#ifndef GW_SCHEDULER_NET_SECRETS_H
#define GW_SCHEDULER_NET_SECRETS_H

#include "graph/wire/message.h"
#include "graph/wire/tls.h"

#include <gangway/error.h>

struct gw_secrets {
    uint8_t root[GW_TLS_SECRET_BYTES];
};

/* gw_secrets_init makes the root; GW_EIO with text. gw_secrets_deinit wipes it. */
int gw_secrets_init(struct gw_secrets *secrets, struct gw_error *error);
void gw_secrets_deinit(struct gw_secrets *secrets);

/* gw_secrets_of_worker gives the secret by which a worker's peers prove themselves to it, of its
 * number in this life of the scheduler. 0 or GW_EIO. */
int gw_secrets_of_worker(const struct gw_secrets *secrets, uint32_t worker,
                         uint8_t secret[GW_TLS_SECRET_BYTES]);

/* gw_secrets_add puts into a message for this worker what only the I/O side knows: its secret into
 * `welcome`, a key for another worker into `neighbour`, the key of the attempt into a `gang` of
 * functions at several workers. `room` holds it and is the caller's to wipe. All other messages
 * stay as they are. 0, or GW_EIO: it stays without. */
int gw_secrets_add(const struct gw_secrets *secrets, uint32_t worker, struct gw_message *message,
                   uint8_t room[GW_TLS_SECRET_BYTES]);

#endif
