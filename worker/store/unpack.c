/* Writes the received parts to files.
 *
 * Invariant: nothing is written outside the folder. All names are below it, and symbolic links come
 * last, so that no name leads through a link. */
#include "worker/store/unpack.h"

#include "graph/base/dir.h"
#include "graph/base/must.h"
#include "graph/base/text.h"
#include "graph/wire/enums.h"
#include "worker/store/parts_hash.h"
#include "worker/store/union.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { SPARE_BYTES = 16 << 20 }; /* space of the disk that copies must leave free */

struct gw_unpack {
    char *path;
    int fd; /* the file that is being written; -1: none */
    struct timespec mtime;
    bool links, over;
    struct gw_parts_hash hash;
    struct gw_union_part written;
};

/* -- Parts ---------------------------------------------------------------------------------------
 */

int gw_unpack_open(const char *path, uint64_t bytes, struct gw_unpack **unpack,
                   struct gw_error *error)
{
    char wants[GW_TEXT_BYTES_ROOM], has[GW_TEXT_BYTES_ROOM];
    struct statvfs disk;
    int rc = gw_dir_remove(path, error);
    if (rc == 0)
        rc = gw_dir_make(path, error);
    if (rc < 0)
        return rc;
    if (statvfs(path, &disk) == 0 &&
        (uint64_t)disk.f_bavail * disk.f_frsize < bytes + SPARE_BYTES) {
        gw_text_bytes_two(bytes + SPARE_BYTES, (uint64_t)disk.f_bavail * disk.f_frsize, wants, has);
        rc = gw_error_set(error, GW_ELIMIT,
                          "%s: not enough disk space: %s must be free, and %s are free", path,
                          wants, has);
        (void)gw_dir_remove(path, NULL);
        return rc;
    }
    struct gw_unpack *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    opened->path = strdup(path);
    GW_MUST_PTR(opened->path);
    opened->fd = -1;
    gw_parts_hash_init(&opened->hash);
    *unpack = opened;
    return 0;
}

void gw_unpack_close(struct gw_unpack *unpack)
{
    if (!unpack)
        return;
    if (unpack->fd >= 0)
        close(unpack->fd);
    (void)gw_dir_remove(unpack->path, NULL);
    gw_parts_hash_deinit(&unpack->hash);
    gw_union_deinit(&unpack->written);
    free(unpack->path);
    free(unpack);
}

/* Returns true if a path stays inside the folder. */
static bool is_below(const char *path)
{
    if (!*path || *path == '/')
        return false;
    for (const char *name = path; name; name = strchr(name, '/')) {
        name += *name == '/';
        size_t length = strcspn(name, "/");
        if (length == 0 || (length == 1 && name[0] == '.') ||
            (length == 2 && name[0] == '.' && name[1] == '.'))
            return false;
    }
    return true;
}

static int end_file(struct gw_unpack *unpack, struct gw_error *error)
{
    const struct timespec times[2] = {unpack->mtime, unpack->mtime};
    if (unpack->fd < 0)
        return 0;
    int fd = unpack->fd;
    unpack->fd = -1;
    bool well = futimens(fd, times) == 0;
    if (close(fd) < 0 || !well)
        return gw_error_set(error, GW_EIO, "%s: %s", unpack->path, strerror(errno));
    return 0;
}

static int write_data(struct gw_unpack *unpack, struct gw_bin data, struct gw_error *error)
{
    const char *at = data.data;
    for (size_t left = data.size; left > 0;) {
        ssize_t bytes = write(unpack->fd, at, left);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0)
            return gw_error_set(error, GW_EIO, "%s: %s", unpack->path, strerror(errno));
        at += bytes;
        left -= (size_t)bytes;
    }
    return 0;
}

static int take_named(struct gw_unpack *unpack, const struct gw_msg_transfer_part *part,
                      struct gw_error *error)
{
    char path[PATH_MAX], target[PATH_MAX];
    if (!is_below(part->path) || (unpack->links && part->kind != GW_TRANSFER_LINK) ||
        snprintf(path, sizeof path, "%s/%s", unpack->path, part->path) >= (int)sizeof path)
        return gw_error_set(error, GW_EPROTO,
                            "a checkpoint has a file with the name \"%.128s\", which is not a path "
                            "below its folder",
                            part->path);
    bool well;
    if (part->kind == GW_TRANSFER_FOLDER) {
        well = mkdir(path, 0700) == 0;
    } else if (part->kind == GW_TRANSFER_LINK) {
        unpack->links = true;
        (void)snprintf(target, sizeof target, "%.*s", (int)part->data.size,
                       (const char *)part->data.data);
        well = symlink(target, path) == 0;
    } else {
        unpack->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        unpack->mtime = (struct timespec){(time_t)(part->mtime_ns / UINT64_C(1000000000)),
                                          (long)(part->mtime_ns % UINT64_C(1000000000))};
        well = unpack->fd >= 0 && fchmod(unpack->fd, part->mode & 0777) == 0;
    }
    if (!well)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    if (part->written)
        gw_union_add(&unpack->written, part->path);
    return part->kind == GW_TRANSFER_FILE ? write_data(unpack, part->data, error) : 0;
}

static int take_end(struct gw_unpack *unpack, const struct gw_msg_transfer_part *part,
                    struct gw_error *error)
{
    uint8_t digest[GW_HASH_BYTES];
    gw_parts_hash_final(&unpack->hash, digest);
    unpack->over = true;
    if (part->data.size != sizeof digest || memcmp(part->data.data, digest, sizeof digest) != 0)
        return gw_error_set(
            error, GW_ECORRUPT,
            "%s was damaged on its way between the hosts: its data differs from what was sent",
            unpack->path);
    return 1;
}

int gw_unpack_take(struct gw_unpack *unpack, const struct gw_msg_transfer_part *part,
                   struct gw_error *error)
{
    int rc = 0;
    if (unpack->over || part->kind < GW_TRANSFER_FOLDER || part->kind > GW_TRANSFER_END ||
        (part->kind == GW_TRANSFER_MORE && unpack->fd < 0) ||
        part->data.size > GW_TRANSFER_PART_BYTES)
        return gw_error_set(error, GW_EPROTO, "parts in a wrong order");
    if (part->kind != GW_TRANSFER_MORE)
        rc = end_file(unpack, error);
    if (rc == 0 && part->kind == GW_TRANSFER_END)
        return take_end(unpack, part, error);
    if (rc == 0)
        gw_parts_hash_add(&unpack->hash, part);
    if (rc == 0 && part->kind == GW_TRANSFER_MORE)
        return write_data(unpack, part->data, error);
    return rc == 0 ? take_named(unpack, part, error) : rc;
}

const char *gw_unpack_folder(const struct gw_unpack *unpack)
{
    return unpack->path;
}

void gw_unpack_list(const struct gw_unpack *unpack, struct gw_union_part *part)
{
    for (size_t i = 0; i < unpack->written.count; i++)
        gw_union_add(part, unpack->written.written[i]);
}

/* -- Final place ---------------------------------------------------------------------------------
 */

static int lay_one(const char *from, const char *name, const char *to, bool folder,
                   struct gw_error *error)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", to, name) >= (int)sizeof path)
        return gw_error_set(error, GW_EIO,
                            "%s: the path, or a path below it, is longer than %d bytes", name,
                            PATH_MAX - 1);
    if (folder ? mkdir(path, 0700) < 0 && errno != EEXIST : rename(from, path) < 0)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

int gw_unpack_lay(struct gw_unpack *unpack, const char *to, struct gw_error *error)
{
    char *const roots[] = {unpack->path, NULL};
    size_t skip = strlen(unpack->path) + 1;
    int rc = 0;
    if (mkdir(to, 0700) < 0 && errno != EEXIST)
        rc = gw_error_set(error, GW_EIO, "cannot make %s: %s", to, strerror(errno));
    FTS *walk = rc == 0 ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    if (rc == 0 && !walk)
        rc = gw_error_set(error, GW_EIO, "%s: %s", unpack->path, strerror(errno));
    for (const FTSENT *seen; rc == 0 && (seen = fts_read(walk));)
        if (seen->fts_level > 0 && seen->fts_info != FTS_DP)
            rc = lay_one(seen->fts_path, seen->fts_path + skip, to, seen->fts_info == FTS_D, error);
    if (walk)
        (void)fts_close(walk);
    return rc;
}

int gw_unpack_replace(struct gw_unpack *unpack, const char *to, struct gw_error *error)
{
    char old[PATH_MAX];
    if (snprintf(old, sizeof old, "%s.old", unpack->path) >= (int)sizeof old)
        return gw_error_set(error, GW_EIO,
                            "%s: the path, or a path below it, is longer than %d bytes",
                            unpack->path, PATH_MAX - 1);
    int rc = gw_dir_remove(old, error);
    if (rc == 0 && rename(to, old) < 0 && errno != ENOENT)
        rc = gw_error_set(error, GW_EIO, "cannot replace %s: %s", to, strerror(errno));
    if (rc == 0 && rename(unpack->path, to) < 0)
        rc = gw_error_set(error, GW_EIO, "cannot write %s: %s", to, strerror(errno));
    (void)gw_dir_remove(old, NULL);
    return rc;
}
