/* Programs on their way from the scheduler to this host's disk. */
#ifndef GW_NET_CACHE_H
#define GW_NET_CACHE_H

#include "graph/wire/message.h"

#include <uv.h>

struct gw_cache;

struct gw_cache_callbacks {
    /* Asks the scheduler for content (a blob_want; borrowed during the call). */
    void (*send)(const struct gw_message *message, void *arg);
    /* A program that was wanted can be started (code 0; text: its path) or never will. */
    void (*on_ready)(struct gw_bin hash, int code, const char *text, void *arg);
    void *arg;
};

/* gw_cache_open uses DIR/blobs, which all of this host share, and DIR/programs. */
int gw_cache_open(uv_loop_t *loop, const char *dir, const struct gw_cache_callbacks *callbacks,
                  struct gw_cache **cache, struct gw_error *error);

/* gw_cache_close frees it, as soon as copies that are under way have ended; no callbacks any more.
 */
void gw_cache_close(struct gw_cache *cache);

/* gw_cache_want makes a program startable; on_ready follows, perhaps inside the call. */
void gw_cache_want(struct gw_cache *cache, struct gw_bin hash);

/* gw_cache_on_program takes a `program` message: GW_EPROTO with text when it is not what its hash
 * says. gw_cache_on_blob takes content (takes fd; -1: none came). */
int gw_cache_on_program(struct gw_cache *cache, const struct gw_msg_program *message,
                        struct gw_error *error);
int gw_cache_on_blob(struct gw_cache *cache, const struct gw_msg_blob *message, int fd,
                     struct gw_error *error);

/* gw_cache_reconnected asks a new connection for what an old one did not send. */
void gw_cache_reconnected(struct gw_cache *cache);

#endif
