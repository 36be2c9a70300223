/* The cache of programs: which are wanted, what content they lack, and the copies under way.
 *
 * Reading, hashing and writing files happens on libuv's threads; everything else on the loop's. A
 * program that failed is forgotten with its cause, so that a later wish tries again. */
#include "worker/net/cache.h"

#include "graph/base/array.h"
#include "graph/base/log.h"
#include "worker/store/program.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    uint8_t hash[GW_HASH_BYTES];
    struct gw_arena arena;
    struct gw_manifest manifest; /* in the arena; count 0: not known yet */
    bool wanted, building;
    uint32_t asked, came; /* files of it asked for on this connection, and answered */
};

struct gw_cache {
    uv_loop_t *loop;
    struct gw_cache_callbacks callbacks;
    struct gw_blobs blobs;
    char dir[PATH_MAX];
    GW_ARRAY(struct entry *) entries;
    uint32_t works; /* under way */
    bool closed;
};

/* A blob on its way into the store, or a program on its way to a folder. */
struct work {
    uv_work_t work;
    struct gw_cache *cache;
    uint8_t hash[GW_HASH_BYTES];
    int fd;
    const struct gw_manifest *manifest;
    char path[PATH_MAX];
    int rc;
    struct gw_error error;
};

int gw_cache_open(uv_loop_t *loop, const char *dir, const struct gw_cache_callbacks *callbacks,
                  struct gw_cache **cache, struct gw_error *error)
{
    char blobs[PATH_MAX];
    struct gw_cache *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    opened->loop = loop;
    opened->callbacks = *callbacks;
    (void)snprintf(blobs, sizeof blobs, "%s/blobs", dir);
    int length = snprintf(opened->dir, sizeof opened->dir, "%s/programs", dir);
    int rc = gw_blobs_init(&opened->blobs, blobs, error);
    if (rc == 0 && length >= (int)sizeof opened->dir)
        rc = gw_error_set(error, GW_EINVAL, "%s: too long a path", dir);
    if (rc == 0 && mkdir(opened->dir, 0700) < 0 && errno != EEXIST)
        rc = gw_error_set(error, GW_EIO, "cannot make %s: %s", opened->dir, strerror(errno));
    if (rc < 0) {
        free(opened);
        return rc;
    }
    *cache = opened;
    return 0;
}

static void cache_free(struct gw_cache *cache)
{
    for (size_t i = 0; i < cache->entries.count; i++) {
        gw_arena_deinit(&cache->entries.items[i]->arena);
        free(cache->entries.items[i]);
    }
    gw_array_deinit(&cache->entries);
    free(cache);
}

void gw_cache_close(struct gw_cache *cache)
{
    cache->closed = true;
    if (!cache->works)
        cache_free(cache);
}

static struct entry *entry_of(struct gw_cache *cache, const void *hash)
{
    for (size_t i = 0; i < cache->entries.count; i++)
        if (memcmp(cache->entries.items[i]->hash, hash, GW_HASH_BYTES) == 0)
            return cache->entries.items[i];
    struct entry *entry = calloc(1, sizeof *entry);
    GW_MUST_PTR(entry);
    memcpy(entry->hash, hash, GW_HASH_BYTES);
    GW_MUST(gw_array_push(&cache->entries, entry));
    return entry;
}

static void settle(struct gw_cache *cache, struct entry *entry, int code, const char *text)
{
    if (!entry->wanted)
        return;
    entry->wanted = false;
    cache->callbacks.on_ready((struct gw_bin){entry->hash, GW_HASH_BYTES}, code, text,
                              cache->callbacks.arg);
}

/* -- On threads ----------------------------------------------------------------------------------
 */

static void progress(struct gw_cache *cache, struct entry *entry);

static void start(struct work *work, uv_work_cb run, uv_after_work_cb done)
{
    work->work.data = work;
    work->cache->works++;
    int rc = uv_queue_work(work->cache->loop, &work->work, run, done);
    assert(rc == 0);
}

/* True where the cache was closed meanwhile: the last work frees it. */
static bool ends_after_close(struct gw_cache *cache)
{
    cache->works--;
    if (!cache->closed)
        return false;
    if (!cache->works)
        cache_free(cache);
    return true;
}

static void on_build_run(uv_work_t *request)
{
    struct work *work = request->data;
    const struct gw_program_build build = {
        .dir = work->cache->dir,
        .blobs = &work->cache->blobs,
        .manifest = work->manifest,
        .hash = work->hash,
    };
    work->rc = gw_program_build(&build, work->path, &work->error);
}

static void on_build_done(uv_work_t *request, int status)
{
    struct work *work = request->data;
    struct gw_cache *cache = work->cache;
    (void)status; /* work is never cancelled */
    if (!ends_after_close(cache)) {
        struct entry *entry = entry_of(cache, work->hash);
        entry->building = false;
        settle(cache, entry, work->rc, work->rc == 0 ? work->path : work->error.text);
    }
    free(work);
}

static void on_put_run(uv_work_t *request)
{
    struct work *work = request->data;
    work->rc = gw_blobs_put(&work->cache->blobs, work->hash, work->fd, &work->error);
}

static bool holds(const struct entry *entry, const uint8_t *hash)
{
    for (uint32_t i = 0; i < entry->manifest.count; i++)
        if (memcmp(entry->manifest.files[i].hash, hash, GW_HASH_BYTES) == 0)
            return true;
    return false;
}

static void on_put_done(uv_work_t *request, int status)
{
    struct work *work = request->data;
    struct gw_cache *cache = work->cache;
    (void)status;
    close(work->fd);
    if (!ends_after_close(cache)) {
        for (size_t i = 0; i < cache->entries.count; i++) {
            struct entry *entry = cache->entries.items[i];
            if (!entry->wanted || !holds(entry, work->hash))
                continue;
            entry->came++;
            if (work->rc < 0)
                settle(cache, entry, work->rc, work->error.text);
            else
                progress(cache, entry);
        }
    }
    free(work);
}

/* -- On the loop ---------------------------------------------------------------------------------
 */

static void progress(struct gw_cache *cache, struct entry *entry)
{
    uint8_t hashes[GW_HASH_BYTES * GW_MANIFEST_FILES_MAX];
    if (!entry->wanted || entry->building || !entry->manifest.count || entry->came < entry->asked)
        return;
    uint32_t lacks = gw_program_lacks(&cache->blobs, &entry->manifest, hashes);
    entry->came = 0;
    entry->asked = lacks;
    if (lacks) {
        struct gw_message message = {.type = GW_MESSAGE_blob_want};
        message.blob_want.hashes = (struct gw_bin){hashes, lacks * GW_HASH_BYTES};
        cache->callbacks.send(&message, cache->callbacks.arg);
        return;
    }
    struct work *work = calloc(1, sizeof *work);
    GW_MUST_PTR(work);
    work->cache = cache;
    work->manifest = &entry->manifest;
    memcpy(work->hash, entry->hash, GW_HASH_BYTES);
    entry->building = true;
    start(work, on_build_run, on_build_done);
}

void gw_cache_want(struct gw_cache *cache, struct gw_bin hash)
{
    char path[PATH_MAX];
    if (hash.size != GW_HASH_BYTES) {
        cache->callbacks.on_ready(hash, GW_EPROTO, "its program has no hash", cache->callbacks.arg);
        return;
    }
    struct entry *entry = entry_of(cache, hash.data);
    if (entry->wanted)
        return;
    entry->wanted = true;
    entry->asked = entry->came = 0;
    if (gw_program_find(cache->dir, entry->hash, path))
        settle(cache, entry, 0, path);
    else
        progress(cache, entry);
}

int gw_cache_on_program(struct gw_cache *cache, const struct gw_msg_program *message,
                        struct gw_error *error)
{
    uint8_t hash[GW_HASH_BYTES];
    gw_hash_bytes(message->manifest.data, message->manifest.size, hash);
    if (message->hash.size != GW_HASH_BYTES || memcmp(message->hash.data, hash, GW_HASH_BYTES) != 0)
        return gw_error_set(error, GW_EPROTO, "program: the hash is not that of the manifest");
    struct entry *entry = entry_of(cache, hash);
    if (entry->manifest.count)
        return 0;
    void *copy = gw_arena_copy(&entry->arena, message->manifest.data, message->manifest.size);
    GW_MUST_PTR(copy);
    int rc = gw_manifest_decode((struct gw_bin){copy, message->manifest.size}, &entry->arena,
                                &entry->manifest, error);
    if (rc < 0) {
        entry->manifest.count = 0;
        return rc;
    }
    progress(cache, entry);
    return 0;
}

int gw_cache_on_blob(struct gw_cache *cache, const struct gw_msg_blob *message, int fd,
                     struct gw_error *error)
{
    if (message->hash.size != GW_HASH_BYTES || fd < 0) {
        if (fd >= 0)
            close(fd);
        return gw_error_set(error, GW_EPROTO, "blob: without a hash or a descriptor");
    }
    struct work *work = calloc(1, sizeof *work);
    GW_MUST_PTR(work);
    work->cache = cache;
    work->fd = fd;
    memcpy(work->hash, message->hash.data, GW_HASH_BYTES);
    start(work, on_put_run, on_put_done);
    return 0;
}

void gw_cache_reconnected(struct gw_cache *cache)
{
    for (size_t i = 0; i < cache->entries.count; i++) {
        struct entry *entry = cache->entries.items[i];
        entry->asked = entry->came = 0;
        progress(cache, entry);
    }
}
