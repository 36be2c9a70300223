/* A reserve of disk space for a full disk. */
#include "scheduler/store/reserve.h"

#include "graph/base/log.h"
#include "graph/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { RESERVE_BYTES = 8 << 20 };

static void reserve_path(const char *dir, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/reserve", dir);
}

void gw_reserve_drop(const char *dir)
{
    char path[PATH_MAX];
    reserve_path(dir, path);
    (void)unlink(path);
}

void gw_reserve_take(const char *dir)
{
    gw_log_error("the disk with the cluster's state in %s is full: the space that was reserved "
                 "there is used now; free some space",
                 dir);
    gw_reserve_drop(dir);
}

int gw_reserve_lack(const char *dir, const char *what, struct gw_error *error)
{
    char wants[GW_TEXT_BYTES_ROOM], has[GW_TEXT_BYTES_ROOM];
    struct statvfs disk = {0};
    (void)statvfs(dir, &disk);
    gw_text_bytes_two(RESERVE_BYTES, (uint64_t)disk.f_bavail * disk.f_frsize, wants, has);
    return gw_error_set(error, GW_EIO,
                        "the cluster's state in %s cannot be written: %s; %s must be free on that "
                        "disk, and %s are free: free some space, and try again",
                        dir, what, wants, has);
}

bool gw_reserve_full(const char *dir, struct gw_error *error)
{
    char path[PATH_MAX], wants[GW_TEXT_BYTES_ROOM], has[GW_TEXT_BYTES_ROOM];
    struct statvfs disk;
    reserve_path(dir, path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int rc = fd < 0 ? errno : posix_fallocate(fd, 0, RESERVE_BYTES);
    if (fd >= 0)
        close(fd);
    if (rc == 0)
        return false;
    (void)unlink(path);
    if (rc != ENOSPC || statvfs(dir, &disk) < 0) {
        (void)gw_error_set(
            error, GW_EIO,
            "there is no disk space for another job in %s (%s): free some space, or cancel jobs",
            dir, strerror(rc));
        return true;
    }
    gw_text_bytes_two(RESERVE_BYTES, (uint64_t)disk.f_bavail * disk.f_frsize, wants, has);
    (void)gw_error_set(error, GW_EIO,
                       "there is no disk space for another job in %s (%s): %s must be free on "
                       "that disk, and %s are free; free some space, or cancel jobs",
                       dir, strerror(rc), wants, has);
    return true;
}
