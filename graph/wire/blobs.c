/* A content store in a folder. A blob appears by rename, whole and verified, or not at all; files
 * are executable, because a program's executable may be started straight from here. */
#include "graph/wire/blobs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int gw_blobs_init(struct gw_blobs *blobs, const char *dir, struct gw_error *error)
{
    if (strlen(dir) >= sizeof blobs->dir)
        return gw_error_set(error, GW_EINVAL, "%s: the path is too long", dir);
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

bool gw_blobs_has(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES])
{
    char path[PATH_MAX];
    gw_blobs_path(blobs, hash, path);
    return access(path, R_OK) == 0;
}

/* Copies all of `from`; 0 or GW_EIO. */
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

int gw_blobs_put(const struct gw_blobs *blobs, const uint8_t hash[GW_HASH_BYTES], int fd,
                 struct gw_error *error)
{
    char temporary[PATH_MAX];
    (void)snprintf(temporary, sizeof temporary, "%s/new.XXXXXX", blobs->dir);
    int to = mkostemp(temporary, O_CLOEXEC);
    if (to < 0)
        return gw_error_set(error, GW_EIO, "cannot write below %s: %s", blobs->dir,
                            strerror(errno));

    uint8_t found[GW_HASH_BYTES];
    char path[PATH_MAX];
    gw_blobs_path(blobs, hash, path);
    int rc = copy_file(fd, to, temporary, error);
    if (rc >= 0)
        rc = gw_hash_file(to, found, error);
    if (rc >= 0 && memcmp(found, hash, GW_HASH_BYTES) != 0)
        rc = gw_error_set(error, GW_ECORRUPT,
                          "the content of a shipped file is not what its hash "
                          "says: was it written to meanwhile?");
    if (rc >= 0 && fchmod(to, 0500) < 0)
        rc = gw_error_set(error, GW_EIO, "%s: %s", temporary, strerror(errno));
    close(to); /* before the rename: a file open for writing cannot be executed */
    if (rc >= 0 && rename(temporary, path) < 0)
        rc = gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    if (rc < 0)
        (void)unlink(temporary);
    return rc;
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
