/* A content store in a folder. A blob appears by rename, complete and verified. Files are
 * executable, because the executable of a program may be started directly from the folder. A valid
 * blob is never replaced by a new file, because another process that is about to link it would not
 * find it.
 *
 * The modification time of a blob is set to a value derived from its hash. If someone writes to the
 * file or copies the folder, the modification time changes. The blob then counts as missing and is
 * added again. The access time of the file is the time of its last use. A blob is synced to disk
 * before it gets its name. */
#include "graph/wire/blobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int gw_blobs_init(struct gw_blobs *blobs, const char *dir, struct gw_error *error)
{
    if (strlen(dir) >= sizeof blobs->dir)
        return gw_error_set(error, GW_EINVAL,
                            "%s: the path, or a path below it, is longer than %d bytes", dir,
                            PATH_MAX - 1);
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return gw_error_set(error, GW_EIO, "cannot make %s: %s", dir, strerror(errno));
    strcpy(blobs->dir, dir);
    return 0;
}

void gw_blobs_path(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES],
                   char path[PATH_MAX])
{
    char text[GW_HASH_TEXT_BYTES];
    gw_hash_format(hash, text);
    (void)snprintf(path, PATH_MAX, "%s/%s", blobs->dir, text);
}

/* An even number of whole seconds, because some file systems do not store odd seconds or fractions.
 */
static struct timespec stamp_of(const uint8_t hash[GW_HASH_BYTES])
{
    const time_t origin = 1000000000;
    return (struct timespec){.tv_sec = origin + ((hash[0] << 16 | hash[1] << 8 | hash[2]) << 1)};
}

static bool is_stamped(const struct stat *info, const uint8_t hash[GW_HASH_BYTES])
{
    return S_ISREG(info->st_mode) && info->st_mtim.tv_sec == stamp_of(hash).tv_sec &&
           info->st_mtim.tv_nsec == 0;
}

/* Sets the access time to now and the modification time to the value derived from the hash. */
static int stamp(int fd, const uint8_t hash[GW_HASH_BYTES])
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, stamp_of(hash)};
    return futimens(fd, times);
}

bool gw_blobs_has(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], uint64_t bytes)
{
    char path[PATH_MAX];
    struct stat info;
    gw_blobs_path(blobs, hash, path);
    return stat(path, &info) == 0 && is_stamped(&info, hash) && (uint64_t)info.st_size == bytes &&
           access(path, R_OK) == 0;
}

void gw_blobs_look(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES])
{
    uint8_t found[GW_HASH_BYTES];
    struct stat info;
    uint64_t bytes;
    int fd;
    if (gw_blobs_open(blobs, hash, &fd, &bytes, NULL) < 0)
        return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && !is_stamped(&info, hash) &&
        gw_hash_file(fd, found, NULL) == 0 && memcmp(found, hash, GW_HASH_BYTES) == 0)
        (void)stamp(fd, hash);
    close(fd);
}

void gw_blobs_use(int fd)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    (void)futimens(fd, times);
}

/* Copies the whole content of `from`. Returns 0 or GW_EIO. The offset of `from` advances with the
 * copy, so that the sender of the descriptor, which shares the offset, can see the progress. */
static int copy_file(int from, int to, const char *path, struct gw_error *error)
{
    char chunk[64 * 1024];
    off_t at = 0;
    for (;;) {
        ssize_t got = pread(from, chunk, sizeof chunk, at);
        if (got == 0)
            return 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return gw_error_set(error, GW_EIO, "cannot read: %s", strerror(errno));
        at += got;
        (void)lseek(from, at, SEEK_SET);
        for (ssize_t done = 0; done < got;) {
            ssize_t put = write(to, chunk + done, (size_t)(got - done));
            if (put < 0 && errno == EINTR)
                continue;
            if (put < 0)
                return gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
            done += put;
        }
    }
}

/* Returns true if the existing file of this name was not changed since it was added. */
static bool is_intact(const char *path, const char *temporary, const uint8_t hash[GW_HASH_BYTES])
{
    struct stat there, fresh;
    return stat(path, &there) == 0 && stat(temporary, &fresh) == 0 && is_stamped(&there, hash) &&
           there.st_size == fresh.st_size;
}

/* Renames a new file to its final name. If an unchanged file of that name exists, it has the same
 * content and is kept. */
static int name_it(const char *temporary, const char *path, const uint8_t hash[GW_HASH_BYTES])
{
    const struct timespec used[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EINVAL || errno == ENOSYS) /* the file system does not support this flag */
        return rename(temporary, path);
    if (errno != EEXIST)
        return -1;
    if (!is_intact(path, temporary, hash))
        return rename(temporary, path);
    (void)utimensat(AT_FDCWD, path, used, 0); /* record that it is used now */
    return unlink(temporary);
}

/* Verifies the content of a new file and renames it to its final name. If the content is wrong,
 * removes the file. Closes `to`. */
static int admit(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], int to,
                 const char *temporary, struct gw_error *error)
{
    uint8_t found[GW_HASH_BYTES];
    char path[PATH_MAX];
    gw_blobs_path(blobs, hash, path);
    int rc = gw_hash_file(to, found, error);
    if (rc >= 0 && memcmp(found, hash, GW_HASH_BYTES) != 0)
        rc = gw_error_set(error, GW_ECORRUPT,
                          "its content is not what its hash says: it was written to while it was "
                          "sent; submit it again");
    if (rc >= 0 && (fchmod(to, 0500) < 0 || stamp(to, hash) < 0 || fsync(to) < 0))
        rc = gw_error_set(error, GW_EIO, "%s: %s", temporary, strerror(errno));
    close(to); /* before the rename: a file that is open for writing cannot be executed */
    if (rc >= 0 && name_it(temporary, path, hash) < 0)
        rc = gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    if (rc < 0)
        (void)unlink(temporary);
    return rc;
}

int gw_blobs_put(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], int fd,
                 struct gw_error *error)
{
    char temporary[PATH_MAX];
    (void)snprintf(temporary, sizeof temporary, "%s/new.XXXXXX", blobs->dir);
    int to = mkostemp(temporary, O_CLOEXEC);
    if (to < 0 && errno == ENOENT && (mkdir(blobs->dir, 0700) == 0 || errno == EEXIST)) {
        /* the folder was removed: create it again */
        (void)snprintf(temporary, sizeof temporary, "%s/new.XXXXXX", blobs->dir);
        to = mkostemp(temporary, O_CLOEXEC);
    }
    if (to < 0)
        return gw_error_set(error, GW_EIO, "cannot write below %s: %s", blobs->dir,
                            strerror(errno));
    int rc = copy_file(fd, to, temporary, error);
    if (rc < 0) {
        close(to);
        (void)unlink(temporary);
        return rc;
    }
    return admit(blobs, hash, to, temporary, error);
}

/* Returns true if the file cannot change: it belongs to this user and is not writable. */
static bool is_immutable(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink > 0 &&
           info.st_uid == geteuid() && (info.st_mode & 0222) == 0;
}

int gw_blobs_take(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], int fd,
                  struct gw_error *error)
{
    static atomic_uint counter;
    char temporary[PATH_MAX], source[64];
    (void)snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
    (void)snprintf(temporary, sizeof temporary, "%s/link.%d.%u", blobs->dir, (int)getpid(),
                   atomic_fetch_add(&counter, 1));
    if (!is_immutable(fd) || linkat(AT_FDCWD, source, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) < 0)
        return gw_blobs_put(blobs, hash, fd, error);
    int to = open(temporary, O_RDONLY | O_CLOEXEC);
    if (to < 0) {
        int rc = gw_error_set(error, GW_EIO, "cannot read %s: %s", temporary, strerror(errno));
        (void)unlink(temporary);
        return rc;
    }
    return admit(blobs, hash, to, temporary, error);
}

/* -- Trimming ------------------------------------------------------------------------------------
 */

struct found {
    struct timespec used;
    uint64_t bytes;
    char name[GW_HASH_TEXT_BYTES];
};

static int older_first(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Lists the blobs of a folder. `list` is an array that the caller frees. */
static size_t list_blobs(DIR *listing, struct found **list)
{
    size_t count = 0, room = 0;
    for (const struct dirent *entry; (entry = readdir(listing));) {
        struct stat info;
        if (strlen(entry->d_name) != GW_HASH_TEXT_BYTES - 1 ||
            fstatat(dirfd(listing), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (count == room) {
            room = room ? 2 * room : 64;
            struct found *more = realloc(*list, room * sizeof *more);
            if (!more)
                break;
            *list = more;
        }
        struct found *found = &(*list)[count++];
        *found = (struct found){.used = info.st_atim, .bytes = (uint64_t)info.st_size};
        memcpy(found->name, entry->d_name, sizeof found->name);
    }
    return count;
}

uint64_t gw_blobs_trim(const struct gw_blobs *blobs, uint64_t bytes_max,
                       bool (*keeps)(const uint8_t hash[GW_HASH_BYTES], void *arg), void *arg)
{
    DIR *listing = opendir(blobs->dir);
    if (!listing)
        return 0;
    struct found *list = NULL;
    size_t count = list_blobs(listing, &list);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += list[i].bytes;
    if (bytes > bytes_max)
        qsort(list, count, sizeof *list, older_first);
    for (size_t i = 0; i < count && bytes > bytes_max; i++) {
        uint8_t hash[GW_HASH_BYTES];
        if (!gw_hash_parse(list[i].name, hash) || keeps(hash, arg))
            continue;
        if (unlinkat(dirfd(listing), list[i].name, 0) == 0 || errno == ENOENT)
            bytes -= list[i].bytes;
    }
    free(list);
    closedir(listing);
    return bytes;
}

int gw_blobs_open(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], int *fd,
                  uint64_t *bytes, struct gw_error *error)
{
    char path[PATH_MAX];
    gw_blobs_path(blobs, hash, path);
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (opened < 0 || fstat(opened, &info) < 0) {
        int code = errno == ENOENT ? GW_ENOENT : GW_EIO;
        gw_error_set(error, code, "%s: %s", path, strerror(errno));
        if (opened >= 0)
            close(opened);
        return code;
    }
    *fd = opened;
    *bytes = (uint64_t)info.st_size;
    return 0;
}
