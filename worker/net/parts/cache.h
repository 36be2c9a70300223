/* Programs and files on their way from the scheduler to this host's disk. */
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
    /* A folder that was asked for is there (code 0; text: its path) or never will be. */
    void (*on_folder)(uint64_t number, int code, const char *text, void *arg);
    /* So much is in a folder that gw_cache_count was asked about, and so much is free beside it. */
    void (*on_counted)(uint64_t number, uint64_t bytes, uint64_t free_bytes, void *arg);
    void *arg;
};

#define GW_CACHE_FILES_BYTES_DEFAULT (UINT64_C(4) << 30)

struct gw_cache_options {
    const char *dir;          /* borrowed during the call */
    uint64_t files_bytes_max; /* of files that no folder is being made of; 0: 4 GiB */
    struct gw_cache_callbacks callbacks;
};

/* gw_cache_open uses DIR/blobs and DIR/files, which all of this host share, DIR/programs, and
 * DIR/work/PROCESS, which goes with the cache; what dead workers left there goes now. */
int gw_cache_open(uv_loop_t *loop, const struct gw_cache_options *options, struct gw_cache **cache,
                  struct gw_error *error);

/* gw_cache_close frees it, as soon as copies that are under way have ended; no callbacks any more.
 */
void gw_cache_close(struct gw_cache *cache);

/* gw_cache_want makes a program startable; on_ready follows, perhaps inside the call. */
void gw_cache_want(struct gw_cache *cache, struct gw_bin hash);

/* gw_cache_fold makes a folder with the files of a manifest; on_folder follows, perhaps inside the
 * call. gw_cache_unfold removes one that on_folder told of; gw_cache_count has such a one counted.
 * Numbers are never used again. */
void gw_cache_fold(struct gw_cache *cache, uint64_t number, struct gw_bin hash);
void gw_cache_unfold(struct gw_cache *cache, uint64_t number);
void gw_cache_count(struct gw_cache *cache, uint64_t number);

/* gw_cache_on_program takes a `program` message: GW_EPROTO with text when it is not what its hash
 * says. gw_cache_on_blob takes content (takes fd; -1: the scheduler has not got it). */
int gw_cache_on_program(struct gw_cache *cache, const struct gw_msg_program *message,
                        struct gw_error *error);
int gw_cache_on_blob(struct gw_cache *cache, const struct gw_msg_blob *message, int fd,
                     struct gw_error *error);

/* gw_cache_on_gone hears that the scheduler has something no more; until it is announced again. */
void gw_cache_on_gone(struct gw_cache *cache, const struct gw_msg_program_ready *message);

/* gw_cache_reconnected asks a new connection for what an old one did not send. */
void gw_cache_reconnected(struct gw_cache *cache);

#endif
