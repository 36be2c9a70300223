/* Secrets by which workers and their ranks authenticate each other. The scheduler sends them to the
 * workers.
 *
 * All secrets are derived from one root secret, which is made anew in each term of the scheduler
 * and never leaves the scheduler. So no secret is stored on disk, and a process that has one secret
 * cannot derive another. */
#ifndef GW_SCHEDULER_NET_SECRETS_H
#define GW_SCHEDULER_NET_SECRETS_H

#include "graph/wire/message.h"
#include "graph/wire/tls.h"

#include <gangway/error.h>

struct gw_secrets {
    uint8_t root[GW_TLS_SECRET_BYTES];
};

/* gw_secrets_init makes the root secret. It returns GW_EIO with a text if it fails.
 * gw_secrets_deinit wipes it. */
int gw_secrets_init(struct gw_secrets *secrets, struct gw_error *error);
void gw_secrets_deinit(struct gw_secrets *secrets);

/* gw_secrets_of_worker derives the secret of a worker from its number in this term. Peers of this
 * worker authenticate with keys derived from it. Returns 0 or GW_EIO. */
int gw_secrets_of_worker(const struct gw_secrets *secrets, uint32_t worker,
                         uint8_t secret[GW_TLS_SECRET_BYTES]);

/* gw_secrets_add completes a message for this worker with a secret that the core does not know: the
 * worker's secret in `welcome`, a key for another worker in `neighbour`, or the key of the attempt
 * in a `gang` of functions at several workers. Other messages stay unchanged. The secret is written
 * to `room`, which the caller must wipe. Returns 0, or GW_EIO if the message stays without the
 * secret. */
int gw_secrets_add(const struct gw_secrets *secrets, uint32_t worker, struct gw_message *message,
                   uint8_t room[GW_TLS_SECRET_BYTES]);

#endif
