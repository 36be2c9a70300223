/* Lists a folder and reads it part by part.
 *
 * Invariants: the parts are those that were listed, in the same order, with symbolic links last. If
 * a file has changed since it was listed, the pack ends with an error. */
#include "worker/store/pack.h"

#include "graph/base/array.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "worker/store/parts_hash.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
    char *path; /* below the folder; owned */
    uint32_t kind, mode;
    uint64_t bytes, mtime_ns;
    struct timespec changed;
    bool written; /* written after the mark */
};

struct gw_pack {
    char *folder;
    bool whole; /* a whole folder, not a single file */
    GW_ARRAY(struct entry) entries;
    size_t at;
    int fd; /* the file that is being read; -1: none */
    uint64_t left;
    uint32_t files;
    uint64_t bytes;
    struct gw_parts_hash hash;
    uint8_t digest[GW_HASH_BYTES];
    char *buffer;
};

/* -- Listing -------------------------------------------------------------------------------------
 */

static uint64_t ns_of(struct timespec time)
{
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static void add(struct gw_pack *pack, const char *path, uint32_t kind, const struct stat *info)
{
    struct entry entry = {.path = strdup(path),
                          .kind = kind,
                          .mode = info->st_mode & 0777,
                          .bytes = kind == GW_TRANSFER_FILE ? (uint64_t)info->st_size : 0,
                          .mtime_ns = ns_of(info->st_mtim),
                          .changed = info->st_ctim};
    GW_MUST_PTR(entry.path);
    GW_MUST(gw_array_push(&pack->entries, entry));
    pack->files += kind == GW_TRANSFER_FILE;
    pack->bytes += entry.bytes;
}

/* Lists either the symbolic links or everything else. */
static int list_tree(struct gw_pack *pack, bool links, struct gw_error *error)
{
    char *const roots[] = {pack->folder, NULL};
    size_t skip = strlen(pack->folder) + 1;
    int rc = 0;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!walk)
        return gw_error_set(error, GW_EIO, "%s: %s", pack->folder, strerror(errno));
    for (const FTSENT *seen; rc == 0 && (seen = fts_read(walk));) {
        const bool link = seen->fts_info == FTS_SL || seen->fts_info == FTS_SLNONE;
        if (seen->fts_level == 0 && seen->fts_info == FTS_NS && seen->fts_errno == ENOENT)
            continue; /* the folder does not exist, so it counts as empty */
        if (seen->fts_info == FTS_DNR || seen->fts_info == FTS_ERR || seen->fts_info == FTS_NS)
            rc = gw_error_set(error, seen->fts_errno == ENOENT ? GW_EAGAIN : GW_EIO, "%s: %s",
                              seen->fts_path, strerror(seen->fts_errno));
        else if (seen->fts_level > 0 && pack->entries.count == GW_PACK_ENTRIES_MAX)
            rc = gw_error_set(error, GW_ELIMIT, "%s has more than %d files", pack->folder,
                              GW_PACK_ENTRIES_MAX);
        else if (seen->fts_level > 0 && links && link)
            add(pack, seen->fts_path + skip, GW_TRANSFER_LINK, seen->fts_statp);
        else if (seen->fts_level > 0 && !links && seen->fts_info == FTS_D)
            add(pack, seen->fts_path + skip, GW_TRANSFER_FOLDER, seen->fts_statp);
        else if (seen->fts_level > 0 && !links && seen->fts_info == FTS_F)
            add(pack, seen->fts_path + skip, GW_TRANSFER_FILE, seen->fts_statp);
    }
    (void)fts_close(walk);
    return rc;
}

static int open_at(struct gw_pack *pack, const struct entry *entry, struct stat *info,
                   struct gw_error *error)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", pack->folder, entry->path) >= (int)sizeof path)
        return gw_error_set(error, GW_EIO,
                            "%s: the path, or a path below it, is longer than %d bytes",
                            entry->path, PATH_MAX - 1);
    pack->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (pack->fd < 0 || fstat(pack->fd, info) < 0)
        return gw_error_set(error, errno == ENOENT ? GW_EAGAIN : GW_EIO, "%s: %s", path,
                            strerror(errno));
    return 0;
}

/* Lists a single file and keeps it open, so that replacing it has no effect. */
static int list_file(struct gw_pack *pack, const char *name, struct gw_error *error)
{
    struct stat info;
    const struct entry entry = {.path = (char *)(uintptr_t)name};
    int rc = open_at(pack, &entry, &info, error);
    if (rc == GW_EAGAIN)
        return gw_error_set(error, GW_ENOENT, "%s/%s was removed before it was copied",
                            pack->folder, name);
    if (rc == 0)
        add(pack, name, GW_TRANSFER_FILE, &info);
    return rc;
}

int gw_pack_open(const char *folder, const char *name, struct gw_pack **pack,
                 struct gw_error *error)
{
    struct gw_pack *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    opened->fd = -1;
    opened->whole = !name;
    opened->folder = strdup(folder);
    opened->buffer = malloc(GW_TRANSFER_PART_BYTES);
    GW_MUST_PTR(opened->folder);
    GW_MUST_PTR(opened->buffer);
    gw_parts_hash_init(&opened->hash);
    int rc = name ? list_file(opened, name, error) : list_tree(opened, false, error);
    if (rc == 0 && !name)
        rc = list_tree(opened, true, error);
    if (rc < 0) {
        gw_pack_close(opened);
        return rc;
    }
    *pack = opened;
    return 0;
}

void gw_pack_close(struct gw_pack *pack)
{
    if (!pack)
        return;
    for (size_t i = 0; i < pack->entries.count; i++)
        free(pack->entries.items[i].path);
    gw_array_deinit(&pack->entries);
    gw_parts_hash_deinit(&pack->hash);
    if (pack->fd >= 0)
        close(pack->fd);
    free(pack->folder);
    free(pack->buffer);
    free(pack);
}

void gw_pack_since(struct gw_pack *pack, uint64_t mark_ns, bool only)
{
    size_t retained = 0;
    for (size_t i = 0; i < pack->entries.count; i++) {
        struct entry entry = pack->entries.items[i];
        entry.written = entry.kind != GW_TRANSFER_FOLDER && ns_of(entry.changed) > mark_ns;
        if (!only || entry.written || entry.kind == GW_TRANSFER_FOLDER) {
            pack->entries.items[retained++] = entry;
            continue;
        }
        pack->files -= entry.kind == GW_TRANSFER_FILE;
        pack->bytes -= entry.bytes;
        free(entry.path);
    }
    pack->entries.count = retained;
}

const char *gw_pack_written(const struct gw_pack *pack, size_t *at)
{
    while (*at < pack->entries.count) {
        const struct entry *entry = &pack->entries.items[(*at)++];
        if (entry->written)
            return entry->path;
    }
    return NULL;
}

uint32_t gw_pack_files(const struct gw_pack *pack)
{
    return pack->files;
}

uint64_t gw_pack_bytes(const struct gw_pack *pack)
{
    return pack->bytes;
}

/* -- Reading -------------------------------------------------------------------------------------
 */

static int changed(const struct gw_pack *pack, const struct entry *entry, struct gw_error *error)
{
    return gw_error_set(error, GW_EAGAIN, "%s/%s has changed while it was copied", pack->folder,
                        entry->path);
}

/* Returns true if a file has not changed since it was listed. */
static bool is_same(const struct entry *entry, const struct stat *info)
{
    return S_ISREG(info->st_mode) && (uint64_t)info->st_size == entry->bytes &&
           ns_of(info->st_mtim) == entry->mtime_ns;
}

static int begin_file(struct gw_pack *pack, const struct entry *entry, struct gw_error *error)
{
    struct stat info = {0};
    int rc = pack->fd < 0 ? open_at(pack, entry, &info, error) : 0;
    if (rc == 0 && pack->whole && !is_same(entry, &info))
        rc = changed(pack, entry, error);
    pack->left = entry->bytes;
    return rc;
}

static int read_file(struct gw_pack *pack, const struct entry *entry,
                     struct gw_msg_transfer_part *part, struct gw_error *error)
{
    struct stat info;
    size_t most = pack->left < GW_TRANSFER_PART_BYTES ? pack->left : GW_TRANSFER_PART_BYTES,
           got = 0;
    while (got < most) {
        ssize_t bytes = read(pack->fd, pack->buffer + got, most - got);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0)
            return gw_error_set(error, GW_EIO, "%s/%s: %s", pack->folder, entry->path,
                                strerror(errno));
        if (bytes == 0)
            return changed(pack, entry, error);
        got += (size_t)bytes;
    }
    part->data = (struct gw_bin){pack->buffer, (uint32_t)got};
    pack->left -= got;
    if (pack->left > 0)
        return 0;
    if (pack->whole && (fstat(pack->fd, &info) < 0 || !is_same(entry, &info)))
        return changed(pack, entry, error);
    close(pack->fd);
    pack->fd = -1;
    pack->at++;
    return 0;
}

static int read_link(struct gw_pack *pack, const struct entry *entry,
                     struct gw_msg_transfer_part *part, struct gw_error *error)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", pack->folder, entry->path);
    ssize_t length = readlink(path, pack->buffer, PATH_MAX);
    if (length < 0 || length == PATH_MAX)
        return changed(pack, entry, error);
    part->data = (struct gw_bin){pack->buffer, (uint32_t)length};
    pack->at++;
    return 0;
}

int gw_pack_next(struct gw_pack *pack, struct gw_msg_transfer_part *part, struct gw_error *error)
{
    *part = (struct gw_msg_transfer_part){.kind = GW_TRANSFER_END, .path = "", .text = ""};
    if (pack->at == pack->entries.count) {
        gw_parts_hash_final(&pack->hash, pack->digest);
        part->data = (struct gw_bin){pack->digest, sizeof pack->digest};
        return 0;
    }
    const struct entry *entry = &pack->entries.items[pack->at];
    int rc = 0;
    part->kind = pack->left ? GW_TRANSFER_MORE : entry->kind;
    part->path = part->kind == GW_TRANSFER_MORE ? "" : entry->path;
    part->mode = entry->mode;
    part->mtime_ns = entry->mtime_ns;
    part->written = entry->written;
    if (part->kind == GW_TRANSFER_FILE)
        rc = begin_file(pack, entry, error);
    if (rc == 0 && (part->kind == GW_TRANSFER_FILE || part->kind == GW_TRANSFER_MORE))
        rc = read_file(pack, entry, part, error);
    else if (rc == 0 && part->kind == GW_TRANSFER_LINK)
        rc = read_link(pack, entry, part, error);
    else if (rc == 0)
        pack->at++;
    if (rc == 0)
        gw_parts_hash_add(&pack->hash, part);
    return rc;
}

/* -- State of a folder ---------------------------------------------------------------------------
 */

uint64_t gw_pack_stamp(const char *folder)
{
    struct gw_pack *pack;
    uint64_t stamp = 0;
    if (gw_pack_open(folder, NULL, &pack, NULL) < 0)
        return 0;
    for (size_t i = 0; i < pack->entries.count; i++) {
        const struct entry *entry = &pack->entries.items[i];
        if (entry->kind == GW_TRANSFER_FOLDER)
            continue;
        /* Ctime is needed, too: a file that replaces another by rename may have the same mtime */
        uint64_t of = entry->bytes * 31 + entry->mtime_ns + 7 * ns_of(entry->changed);
        for (const char *c = entry->path; *c; c++)
            of = of * 131 + (unsigned char)*c;
        stamp += of | 1;
    }
    if (stamp == 0 && pack->files)
        stamp = 1;
    gw_pack_close(pack);
    return stamp;
}
