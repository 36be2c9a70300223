/* Files of spilled results. A reader maps the file, so its data is in the page cache and the kernel
 * can free it if memory is short. */
#include "worker/store/spillfile.h"

#include "graph/base/dir.h"
#include "graph/base/disk_kind.h"
#include "graph/wire/hash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "gangway-spill-"

/* -- The worker's folder -------------------------------------------------------------------------
 */

/* Locks a folder. Returns -1 if another worker has locked it or another user owns it. */
static int lock_folder(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Removes the folders of workers that were killed. */
static void sweep(const char *parent)
{
    DIR *dir = opendir(parent);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[PATH_MAX];
        if (strncmp(entry->d_name, FOLDER, strlen(FOLDER)) != 0 ||
            snprintf(path, sizeof path, "%s/%s", parent, entry->d_name) >= (int)sizeof path)
            continue;
        int fd = lock_folder(path);
        if (fd < 0)
            continue;
        (void)gw_dir_remove(path, NULL);
        close(fd);
    }
    if (dir)
        (void)closedir(dir);
}

int gw_spillfile_folder(const char *parent, const char *state_dir, char path[PATH_MAX],
                        int *lock_fd, struct gw_error *error)
{
    if (!parent)
        parent = gw_disk_kind_of(state_dir) == GW_DISK_LOCAL ? state_dir : "/var/tmp";
    sweep(parent);
    if (snprintf(path, PATH_MAX, "%s/" FOLDER "XXXXXX", parent) >= PATH_MAX)
        return gw_error_set(error, GW_EINVAL,
                            "%s: the path, or a path below it, is longer than %d bytes", parent,
                            PATH_MAX - 1);
    /* Another worker's sweep may remove the folder between its creation and its lock. Then try
     * again. */
    for (int tries = 0; tries < 10; tries++) {
        strcpy(path + strlen(path) - 6, "XXXXXX");
        if (!mkdtemp(path))
            return gw_error_set(error, errno == EACCES || errno == EPERM ? GW_EPERM : GW_EIO,
                                "cannot make a folder for results in %s: %s", parent,
                                strerror(errno));
        *lock_fd = lock_folder(path);
        if (*lock_fd >= 0 && access(path, F_OK) == 0)
            return 0;
        if (*lock_fd >= 0)
            close(*lock_fd);
    }
    return gw_error_set(
        error, GW_EIO,
        "cannot make a folder for results in %s: another program removed each of 10 new ones",
        parent);
}

/* -- Files ---------------------------------------------------------------------------------------
 */

static int checksum_of(int fd, uint32_t *checksum, struct gw_error *error)
{
    uint8_t hash[GW_HASH_BYTES];
    int rc = gw_hash_file(fd, hash, error);
    if (rc == 0)
        memcpy(checksum, hash, sizeof *checksum);
    return rc;
}

/* Copies in the kernel: a process of the task may truncate the memory meanwhile, and a mapping
 * would then end this process by SIGBUS. Returns 0 or an errno. */
static int copy(int from, int to, uint64_t bytes)
{
    off_t at = 0;
    while ((uint64_t)at < bytes) {
        ssize_t sent = sendfile(to, from, &at, (size_t)(bytes - (uint64_t)at));
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return sent < 0 ? errno : ENODATA;
    }
    return 0;
}

int gw_spillfile_write(const char *path, int memory_fd, struct gw_spillfile *file, int *fd,
                       struct gw_error *error)
{
    int to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), read_fd = -1;
    int errnum = to < 0 ? errno : copy(memory_fd, to, file->bytes);
    if (!errnum && (read_fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        errnum = errno;
    if (!errnum && checksum_of(read_fd, &file->checksum, error) < 0)
        errnum = EIO;
    if (to >= 0 && close(to) < 0 && !errnum)
        errnum = errno;
    if (!errnum) {
        *fd = read_fd;
        return 0;
    }
    if (read_fd >= 0)
        close(read_fd);
    if (to >= 0)
        (void)unlink(path);
    return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errnum));
}

int gw_spillfile_open(const char *path, const struct gw_spillfile *file, int *fd,
                      struct gw_error *error)
{
    struct stat status;
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    if (opened < 0 || fstat(opened, &status) < 0) {
        int errnum = errno;
        if (opened >= 0)
            close(opened);
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errnum));
    }
    uint32_t checksum = 0;
    /* Reads instead of mapping: a bad sector is then an error and not a signal */
    int rc = checksum_of(opened, &checksum, error);
    if (rc == 0 && ((uint64_t)status.st_size != file->bytes || checksum != file->checksum))
        rc = gw_error_set(error, GW_ECORRUPT,
                          "%s is not what was written there: %lld of %" PRIu64 " bytes%s", path,
                          (long long)status.st_size, file->bytes,
                          (uint64_t)status.st_size == file->bytes ? ", but other content" : "");
    if (rc < 0) {
        close(opened);
        return rc;
    }
    *fd = opened;
    return 0;
}
