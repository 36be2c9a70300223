/* Cache of programs and files: which are wanted, what content is missing, and the work in progress.
 *
 * Files are read, hashed and written on libuv's threads. Everything else runs on the loop's thread.
 * A failure is not stored, so that a later request tries again. The content of programs stays. The
 * content of other files is in a store of its own. If that store is too large, the files that were
 * not used for the longest time are removed. Content that a task of this worker waits for is not
 * removed. Another worker of this host may still remove it. It is then requested again. */
#include "worker/net/parts/cache.h"

#include "graph/base/array.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "worker/store/folder.h"
#include "worker/store/program.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    char *folder; /* of the separate user; "": of the worker */
    uint8_t hash[GW_HASH_BYTES];
    struct gw_arena arena;
    struct gw_manifest manifest; /* memory is in arena; count 0: not known yet */
    bool wanted, building;
    bool files;           /* files of folders; false: a program */
    bool was_there;       /* the program was ready before */
    bool gone;            /* the scheduler no longer has it, but its content may be here */
    uint32_t asked, came; /* blobs requested on this connection, and answers received */
};

enum { ASKED_MAX = 64, LAY_TRIES = 5 };

/* A folder that is being made or exists. */
struct place {
    uint64_t number;
    struct entry *entry;
    bool laying, there;
    uint32_t tries;
};

struct gw_cache {
    uv_loop_t *loop;
    struct gw_cache_callbacks callbacks;
    struct gw_blobs blobs, files;
    uint64_t files_bytes_max;
    _Atomic uint64_t files_bytes; /* approximate total size */
    _Atomic uint32_t files_puts;
    char dir[PATH_MAX], folders[PATH_MAX]; /* for programs and working folders of the worker */
    GW_ARRAY(struct entry *) entries;
    GW_ARRAY(struct place) places;
    uint32_t works; /* work in progress on threads */
    bool closed;
};

/* Work on a thread: storing a blob, building a program, or making, measuring or removing a folder.
 */
struct work {
    uv_work_t work;
    struct gw_cache *cache;
    uint8_t hash[GW_HASH_BYTES];
    struct entry *entry; /* of a program that is built */
    int fd;
    bool to_programs, to_files; /* the stores that need the blob */
    uint64_t number;
    const struct gw_manifest *manifest;
    char path[PATH_MAX];
    uint8_t *wanted; /* hashes that must not be removed; owned */
    size_t wanted_count;
    uint64_t bytes, free_bytes; /* result of measuring a folder */
    int rc;
    struct gw_error error;
};

static int make_folder(const char *path, struct gw_error *error)
{
    return mkdir(path, 0700) < 0 && errno != EEXIST
               ? gw_error_set(error, GW_EIO, "cannot make %s: %s", path, strerror(errno))
               : 0;
}

int gw_cache_open(uv_loop_t *loop, const struct gw_cache_options *options, struct gw_cache **cache,
                  struct gw_error *error)
{
    char blobs[PATH_MAX], files[PATH_MAX], folders[PATH_MAX];
    const char *dir = options->dir;
    struct gw_cache *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    opened->loop = loop;
    opened->callbacks = options->callbacks;
    opened->files_bytes_max =
        options->files_bytes_max ? options->files_bytes_max : GW_CACHE_FILES_BYTES_DEFAULT;
    (void)snprintf(blobs, sizeof blobs, "%s/blobs", dir);
    (void)snprintf(files, sizeof files, "%s/files", dir);
    (void)snprintf(folders, sizeof folders, "%s/work", dir);
    (void)snprintf(opened->dir, sizeof opened->dir, "%s/programs", dir);
    int length =
        snprintf(opened->folders, sizeof opened->folders, "%s/work/%d", dir, (int)getpid());
    int rc = gw_blobs_init(&opened->blobs, blobs, error);
    if (rc == 0)
        rc = gw_blobs_init(&opened->files, files, error);
    if (rc == 0 && length >= (int)sizeof opened->folders)
        rc = gw_error_set(error, GW_EINVAL,
                          "%s: the path, or a path below it, is longer than %d bytes", dir,
                          PATH_MAX - 1);
    if (rc == 0)
        rc = make_folder(opened->dir, error);
    if (rc == 0)
        rc = make_folder(folders, error);
    if (rc == 0)
        gw_folder_sweep(folders);
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
        free(cache->entries.items[i]->folder);
        free(cache->entries.items[i]);
    }
    gw_array_deinit(&cache->entries);
    gw_array_deinit(&cache->places);
    (void)gw_dir_remove(cache->folders, NULL);
    free(cache);
}

void gw_cache_close(struct gw_cache *cache)
{
    cache->closed = true;
    if (!cache->works)
        cache_free(cache);
}

/* Finds or makes the entry of a hash, which the folder of a separate user may follow. */
static struct entry *entry_of(struct gw_cache *cache, struct gw_bin key)
{
    const char *hash = key.data, *folder = hash + GW_HASH_BYTES;
    const size_t length = key.size - GW_HASH_BYTES;
    const struct entry *same = NULL;
    for (size_t i = 0; i < cache->entries.count; i++) {
        struct entry *known = cache->entries.items[i];
        if (memcmp(known->hash, hash, GW_HASH_BYTES) != 0)
            continue;
        if (strlen(known->folder) == length && memcmp(known->folder, folder, length) == 0)
            return known;
        same = known;
    }
    struct entry *entry = calloc(1, sizeof *entry);
    GW_MUST_PTR(entry);
    memcpy(entry->hash, hash, GW_HASH_BYTES);
    entry->folder = strndup(length ? folder : "", length);
    GW_MUST_PTR(entry->folder);
    if (same) { /* entries are not freed before the cache is */
        entry->manifest = same->manifest;
        entry->gone = same->gone;
    }
    GW_MUST(gw_array_push(&cache->entries, entry));
    return entry;
}

static struct entry *entry_of_hash(struct gw_cache *cache, const void *hash)
{
    return entry_of(cache, (struct gw_bin){hash, GW_HASH_BYTES});
}

/* Writes where the programs of an entry's user are. */
static void programs_of(const struct gw_cache *cache, const struct entry *entry, char dir[PATH_MAX])
{
    if (*entry->folder)
        (void)snprintf(dir, PATH_MAX, "%.*s/programs", PATH_MAX - 16, entry->folder);
    else
        memcpy(dir, cache->dir, PATH_MAX);
}

/* Returns the index of a folder of this entry that waits for its content. places.count: there is
 * none. */
static size_t next_waiting(const struct gw_cache *cache, const struct entry *entry)
{
    size_t i = 0;
    while (i < cache->places.count &&
           (cache->places.items[i].entry != entry || cache->places.items[i].laying ||
            cache->places.items[i].there))
        i++;
    return i;
}

static void fail_places(struct gw_cache *cache, const struct entry *entry, int code,
                        const char *text)
{
    for (size_t i; (i = next_waiting(cache, entry)) < cache->places.count;) {
        uint64_t number = cache->places.items[i].number;
        gw_array_remove_swap(&cache->places, i);
        cache->callbacks.on_folder(number, code, text, cache->callbacks.arg);
    }
}

static void lay(struct gw_cache *cache, struct place *place);

/* Makes all folders that wait for this content. If the content could not be fetched, fails them. */
static void settle_files(struct gw_cache *cache, struct entry *entry, int code, const char *text)
{
    if (code < 0)
        fail_places(cache, entry, code, text);
    for (size_t i; (i = next_waiting(cache, entry)) < cache->places.count;)
        lay(cache, &cache->places.items[i]);
}

static void settle(struct gw_cache *cache, struct entry *entry, int code, const char *text)
{
    if (!entry->wanted)
        return;
    entry->wanted = false;
    if (entry->files) {
        settle_files(cache, entry, code, text);
        return;
    }
    entry->was_there = code == 0;
    cache->callbacks.on_ready(entry->hash, entry->folder, code, text, cache->callbacks.arg);
}

/* -- Work on threads -----------------------------------------------------------------------------
 */

static void progress(struct gw_cache *cache, struct entry *entry);

static void start(struct work *work, uv_work_cb run, uv_after_work_cb done)
{
    work->work.data = work;
    work->cache->works++;
    int rc = uv_queue_work(work->cache->loop, &work->work, run, done);
    assert(rc == 0);
}

/* Must be called after each piece of work. Returns true if the cache was closed meanwhile. The last
 * piece of work then frees it. */
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
    char dir[PATH_MAX];
    programs_of(work->cache, work->entry, dir);
    const struct gw_program_build build = {
        .dir = dir,
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
    (void)status; /* never cancelled, so always 0 */
    if (!ends_after_close(cache)) {
        struct entry *entry = work->entry;
        entry->building = false;
        settle(cache, entry, work->rc, work->rc == 0 ? work->path : work->error.text);
    }
    free(work);
}

static bool work_keeps(const uint8_t hash[GW_HASH_BYTES], void *arg)
{
    const struct work *work = arg;
    for (size_t i = 0; i < work->wanted_count; i++)
        if (memcmp(work->wanted + i * GW_HASH_BYTES, hash, GW_HASH_BYTES) == 0)
            return true;
    return false;
}

/* Removes old files if there are too many. Other workers of this host add files, too, so the total
 * size is measured again from time to time. */
static void trim(struct work *work)
{
    enum { COUNT_EVERY = 64 };
    struct gw_cache *cache = work->cache;
    struct stat info;
    uint64_t bytes = fstat(work->fd, &info) == 0 ? (uint64_t)info.st_size : 0;
    bytes += atomic_fetch_add(&cache->files_bytes, bytes);
    if (bytes > cache->files_bytes_max ||
        atomic_fetch_add(&cache->files_puts, 1) % COUNT_EVERY == 0)
        atomic_store(&cache->files_bytes,
                     gw_blobs_trim(&cache->files, cache->files_bytes_max, work_keeps, work));
}

static void on_put_run(uv_work_t *request)
{
    struct work *work = request->data;
    if (work->to_programs)
        work->rc = gw_blobs_put(&work->cache->blobs, work->hash, work->fd, &work->error);
    if (work->rc == 0 && work->to_files)
        work->rc = gw_blobs_take(&work->cache->files, work->hash, work->fd, &work->error);
    if (work->to_files)
        trim(work);
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
    free(work->wanted);
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

static void on_lay_run(uv_work_t *request)
{
    struct work *work = request->data;
    char parent[PATH_MAX];
    memcpy(parent, work->path, sizeof parent);
    *strrchr(parent, '/') = '\0';
    work->rc = gw_dir_make(parent, &work->error);
    if (work->rc == 0)
        work->rc = gw_folder_lay(work->path, &work->cache->files, work->manifest, &work->error);
}

static struct place *place_of(struct gw_cache *cache, uint64_t number)
{
    for (size_t i = 0; i < cache->places.count; i++)
        if (cache->places.items[i].number == number)
            return &cache->places.items[i];
    return NULL;
}

static void on_lay_done(uv_work_t *request, int status)
{
    struct work *work = request->data;
    struct gw_cache *cache = work->cache;
    (void)status;
    struct place *place = place_of(cache, work->number);
    if (!ends_after_close(cache)) {
        place->laying = false;
        /* Removed by another worker meanwhile */
        if (work->rc == GW_ENOENT && ++place->tries < LAY_TRIES) {
            place->entry->wanted = true;
            progress(cache, place->entry);
        } else if (work->rc < 0) {
            gw_array_remove_swap(&cache->places, (size_t)(place - cache->places.items));
            cache->callbacks.on_folder(work->number, work->rc, work->error.text,
                                       cache->callbacks.arg);
        } else {
            place->there = true;
            cache->callbacks.on_folder(work->number, 0, work->path, cache->callbacks.arg);
        }
    }
    free(work);
}

static void folder_path(const struct gw_cache *cache, const struct place *place,
                        char path[PATH_MAX])
{
    const char *folder = place->entry->folder;
    if (*folder)
        (void)snprintf(path, PATH_MAX, "%.*s/work/%d/%" PRIu64, PATH_MAX - 64, folder,
                       (int)getpid(), place->number);
    else
        (void)snprintf(path, PATH_MAX, "%.*s/%" PRIu64, PATH_MAX - 32, cache->folders,
                       place->number);
}

static void lay(struct gw_cache *cache, struct place *place)
{
    struct work *work = calloc(1, sizeof *work);
    GW_MUST_PTR(work);
    work->cache = cache;
    work->number = place->number;
    work->manifest = &place->entry->manifest;
    folder_path(cache, place, work->path);
    place->laying = true;
    start(work, on_lay_run, on_lay_done);
}

static void on_remove_run(uv_work_t *request)
{
    struct work *work = request->data;
    work->rc = gw_dir_remove(work->path, &work->error);
}

static void on_remove_done(uv_work_t *request, int status)
{
    struct work *work = request->data;
    (void)status;
    if (work->rc < 0)
        gw_log_warn("cannot remove the working folder of a task: %s", work->error.text);
    (void)ends_after_close(work->cache);
    free(work);
}

static void on_count_run(uv_work_t *request)
{
    struct work *work = request->data;
    gw_folder_count(work->path, UINT64_MAX, &work->bytes, &work->free_bytes);
}

static void on_count_done(uv_work_t *request, int status)
{
    struct work *work = request->data;
    struct gw_cache *cache = work->cache;
    (void)status;
    if (!ends_after_close(cache) && place_of(cache, work->number))
        cache->callbacks.on_counted(work->number, work->bytes, work->free_bytes,
                                    cache->callbacks.arg);
    free(work);
}

/* -- Work on the loop ----------------------------------------------------------------------------
 */

static void progress(struct gw_cache *cache, struct entry *entry)
{
    uint8_t hashes[GW_HASH_BYTES * ASKED_MAX];
    if (!entry->wanted || entry->building || !entry->manifest.count || entry->came < entry->asked)
        return;
    const struct gw_blobs *blobs = entry->files ? &cache->files : &cache->blobs;
    uint32_t lacks = gw_manifest_lacks(&entry->manifest, blobs, hashes, ASKED_MAX);
    entry->came = 0;
    entry->asked = lacks;
    if (lacks) {
        struct gw_message message = {.type = GW_MESSAGE_blob_want};
        message.blob_want.hashes = (struct gw_bin){hashes, lacks * GW_HASH_BYTES};
        cache->callbacks.send(&message, cache->callbacks.arg);
        return;
    }
    if (entry->files) {
        settle(cache, entry, 0, NULL);
        return;
    }
    struct work *work = calloc(1, sizeof *work);
    GW_MUST_PTR(work);
    work->cache = cache;
    work->manifest = &entry->manifest;
    memcpy(work->hash, entry->hash, GW_HASH_BYTES);
    work->entry = entry;
    entry->building = true;
    start(work, on_build_run, on_build_done);
}

void gw_cache_want(struct gw_cache *cache, struct gw_bin hash)
{
    char path[PATH_MAX], dir[PATH_MAX];
    static const uint8_t none[GW_HASH_BYTES];
    if (hash.size < GW_HASH_BYTES) {
        cache->callbacks.on_ready(none, "", GW_EPROTO, "its program has no hash",
                                  cache->callbacks.arg);
        return;
    }
    struct entry *entry = entry_of(cache, hash);
    if (entry->wanted)
        return;
    entry->wanted = true;
    entry->asked = entry->came = 0;
    programs_of(cache, entry, dir);
    if (gw_program_find(dir, entry->hash, path)) {
        settle(cache, entry, 0, path);
        return;
    }
    if (entry->was_there)
        gw_log_warn("a program's file was removed from %s, and is stored there again: make sure "
                    "that nothing cleans this folder",
                    dir);
    progress(cache, entry);
}

void gw_cache_fold(struct gw_cache *cache, uint64_t number, struct gw_bin hash)
{
    if (hash.size < GW_HASH_BYTES) {
        cache->callbacks.on_folder(number, GW_EPROTO, "the files have no hash",
                                   cache->callbacks.arg);
        return;
    }
    struct entry *entry = entry_of(cache, hash);
    struct place place = {.number = number, .entry = entry};
    GW_MUST(gw_array_push(&cache->places, place));
    entry->files = true;
    if (!entry->wanted) {
        entry->wanted = true;
        entry->asked = entry->came = 0;
    }
    if (entry->gone && !entry->manifest.count)
        settle(cache, entry, GW_ENOENT,
               "the cluster no longer has the files: submit the job again");
    else
        progress(cache, entry);
}

void gw_cache_unfold(struct gw_cache *cache, uint64_t number)
{
    struct place *place = place_of(cache, number);
    if (!place)
        return;
    struct work *work = calloc(1, sizeof *work);
    GW_MUST_PTR(work);
    work->cache = cache;
    folder_path(cache, place, work->path);
    gw_array_remove_swap(&cache->places, (size_t)(place - cache->places.items));
    start(work, on_remove_run, on_remove_done);
}

void gw_cache_count(struct gw_cache *cache, uint64_t number)
{
    const struct place *place = place_of(cache, number);
    if (!place)
        return;
    struct work *work = calloc(1, sizeof *work);
    GW_MUST_PTR(work);
    work->cache = cache;
    work->number = number;
    folder_path(cache, place, work->path);
    start(work, on_count_run, on_count_done);
}

int gw_cache_on_program(struct gw_cache *cache, const struct gw_msg_program *message,
                        struct gw_error *error)
{
    uint8_t hash[GW_HASH_BYTES];
    gw_hash_bytes(message->manifest.data, message->manifest.size, hash);
    if (message->hash.size != GW_HASH_BYTES || memcmp(message->hash.data, hash, GW_HASH_BYTES) != 0)
        return gw_error_set(
            error, GW_EPROTO,
            "message program: the list of files does not have the hash that the message names");
    struct entry *entry = entry_of_hash(cache, hash);
    if (!entry->manifest.count) {
        void *copy = gw_arena_copy(&entry->arena, message->manifest.data, message->manifest.size);
        GW_MUST_PTR(copy);
        int rc = gw_manifest_decode((struct gw_bin){copy, message->manifest.size}, &entry->arena,
                                    &entry->manifest, error);
        if (rc < 0) {
            entry->manifest.count = 0;
            return rc;
        }
    }
    for (size_t i = 0; i < cache->entries.count; i++) {
        struct entry *other = cache->entries.items[i];
        if (memcmp(other->hash, hash, GW_HASH_BYTES) != 0)
            continue;
        const bool news = !other->manifest.count || other == entry;
        other->gone = false;
        other->manifest = entry->manifest;
        if (news)
            progress(cache, other);
    }
    return 0;
}

/* Collects the hashes that must not be removed while new content is stored: all content that
 * folders of this worker wait for. */
static void copy_wanted(const struct gw_cache *cache, struct work *work)
{
    size_t count = 0;
    for (size_t i = 0; i < cache->places.count; i++)
        count += cache->places.items[i].there ? 0 : cache->places.items[i].entry->manifest.count;
    work->wanted = malloc(count * GW_HASH_BYTES + 1);
    GW_MUST_PTR(work->wanted);
    for (size_t i = 0; i < cache->places.count; i++) {
        const struct gw_manifest *manifest = &cache->places.items[i].entry->manifest;
        for (uint32_t k = 0; !cache->places.items[i].there && k < manifest->count; k++)
            memcpy(work->wanted + work->wanted_count++ * GW_HASH_BYTES, manifest->files[k].hash,
                   GW_HASH_BYTES);
    }
}

int gw_cache_on_blob(struct gw_cache *cache, const struct gw_msg_blob *message, int fd,
                     struct gw_error *error)
{
    if (message->hash.size != GW_HASH_BYTES) {
        if (fd >= 0)
            close(fd);
        return gw_error_set(error, GW_EPROTO, "blob: without a hash");
    }
    struct work *work = calloc(1, sizeof *work);
    GW_MUST_PTR(work);
    work->cache = cache;
    work->fd = fd;
    memcpy(work->hash, message->hash.data, GW_HASH_BYTES);
    bool here = false;
    for (size_t i = 0; i < cache->entries.count; i++) {
        struct entry *entry = cache->entries.items[i];
        if (!entry->wanted || !holds(entry, work->hash))
            continue;
        here = true;
        work->to_files = work->to_files || entry->files;
        work->to_programs = work->to_programs || !entry->files;
        if (fd < 0)
            settle(cache, entry, GW_ENOENT,
                   "the scheduler no longer has the content: submit the job again");
    }
    if (!here || fd < 0) { /* the content is not wanted any more */
        if (fd >= 0)
            close(fd);
        free(work);
        return 0;
    }
    if (work->to_files)
        copy_wanted(cache, work);
    start(work, on_put_run, on_put_done);
    return 0;
}

void gw_cache_on_gone(struct gw_cache *cache, const struct gw_msg_program_ready *message)
{
    if (message->hash.size != GW_HASH_BYTES || message->code >= 0)
        return;
    entry_of_hash(cache, message->hash.data)->gone = true;
    for (size_t i = 0; i < cache->entries.count; i++) {
        struct entry *entry = cache->entries.items[i];
        if (memcmp(entry->hash, message->hash.data, GW_HASH_BYTES) != 0)
            continue;
        entry->gone = true;
        if (!entry->manifest.count)
            settle(cache, entry, message->code, message->text);
    }
}

void gw_cache_reconnected(struct gw_cache *cache)
{
    for (size_t i = 0; i < cache->entries.count; i++) {
        struct entry *entry = cache->entries.items[i];
        entry->asked = entry->came = 0;
        progress(cache, entry);
    }
}
