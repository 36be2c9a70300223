/* Cache of programs and files that come from the scheduler to this host's disk. */
#ifndef GW_NET_CACHE_H
#define GW_NET_CACHE_H

#include "graph/wire/message.h"

#include <uv.h>

struct gw_cache;

struct gw_cache_callbacks {
    /* Sends a blob_want message, which asks the scheduler for content. The message is borrowed
     * during the call. */
    void (*send)(const struct gw_message *message, void *arg);
    /* A requested program can be started (code 0; text: its path), or could not be fetched. folder:
     * of the separate user for whom it was requested; "": none. */
    void (*on_ready)(const uint8_t *hash, const char *folder, int code, const char *text,
                     void *arg);
    /* A requested folder exists (code 0; text: its path), or could not be made. */
    void (*on_folder)(uint64_t number, int code, const char *text, void *arg);
    /* The size of a folder that gw_cache_count has measured, and the free space of its disk. */
    void (*on_counted)(uint64_t number, uint64_t bytes, uint64_t free_bytes, void *arg);
    void *arg;
};

#define GW_CACHE_FILES_BYTES_DEFAULT (UINT64_C(4) << 30)

struct gw_cache_options {
    const char *dir;          /* borrowed during the call */
    uint64_t files_bytes_max; /* maximum size of files that no folder is being made of; 0: 4 GiB */
    struct gw_cache_callbacks callbacks;
};

/* gw_cache_open uses DIR/blobs and DIR/files, which all workers of this host share, DIR/programs,
 * and DIR/work/PROCESS, which is removed with the cache. It removes the folders in DIR/work that
 * dead workers left. */
int gw_cache_open(uv_loop_t *loop, const struct gw_cache_options *options, struct gw_cache **cache,
                  struct gw_error *error);

/* gw_cache_close frees the cache as soon as all work on threads has ended. No callback is called
 * any more. */
void gw_cache_close(struct gw_cache *cache);

/* A `hash` of the functions below may be followed by the folder of a separate user. The program or
 * the files are then put below that folder, by the user's agent (graph/base/files.h). */

/* gw_cache_want prepares a program for its start. on_ready is called afterwards, possibly before
 * gw_cache_want returns. */
void gw_cache_want(struct gw_cache *cache, struct gw_bin hash);

/* gw_cache_fold makes a folder with the files of a manifest. on_folder is called afterwards,
 * possibly before gw_cache_fold returns. gw_cache_unfold removes such a folder. gw_cache_count
 * measures its size. A number must not be used twice. */
void gw_cache_fold(struct gw_cache *cache, uint64_t number, struct gw_bin hash);
void gw_cache_unfold(struct gw_cache *cache, uint64_t number);
void gw_cache_count(struct gw_cache *cache, uint64_t number);

/* gw_cache_on_program handles a `program` message. Returns GW_EPROTO and sets the error if the
 * content does not match the hash. gw_cache_on_blob handles content. It takes over fd, which is -1
 * if the scheduler does not have the content. */
int gw_cache_on_program(struct gw_cache *cache, const struct gw_msg_program *message,
                        struct gw_error *error);
int gw_cache_on_blob(struct gw_cache *cache, const struct gw_msg_blob *message, int fd,
                     struct gw_error *error);

/* gw_cache_on_gone handles the message that the scheduler no longer has a program or files. It may
 * announce them again later. */
void gw_cache_on_gone(struct gw_cache *cache, const struct gw_msg_program_ready *message);

/* gw_cache_reconnected requests everything that is missing again, on a new connection. */
void gw_cache_reconnected(struct gw_cache *cache);

#endif
