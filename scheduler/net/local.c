/* The socket by which processes of this host come in. What lies there from a scheduler that is gone
 * is removed; one that is served never is. */
#include "scheduler/net/local.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tells whether somebody accepts connections at the address. */
static bool somebody_serves(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool serves = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0;
    close(fd);
    return serves;
}

int gw_local_open(const char *dir, struct gw_local *local, struct gw_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    if ((size_t)snprintf(local->path, GW_LOCAL_PATH_BYTES, "%s/scheduler.sock", dir) >=
        GW_LOCAL_PATH_BYTES)
        return gw_error_set(error, GW_EINVAL,
                            "%s: too long for a socket's path (%zu bytes at most)", dir,
                            GW_LOCAL_PATH_BYTES - sizeof "/scheduler.sock");
    memcpy(address.sun_path, local->path, GW_LOCAL_PATH_BYTES);
    if (somebody_serves(&address))
        return gw_error_set(error, GW_EEXIST, "another scheduler serves %s", dir);
    (void)unlink(local->path);

    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || bind(made, (struct sockaddr *)&address, sizeof address) < 0 ||
        lstat(local->path, &info) < 0 || listen(made, 128) < 0) {
        gw_error_set(error, GW_EIO, "cannot listen at %s: %s", local->path, strerror(errno));
        if (made >= 0)
            close(made);
        return GW_EIO;
    }
    local->device = info.st_dev;
    local->inode = info.st_ino;
    local->fd = made;
    return 0;
}

void gw_local_close(struct gw_local *local)
{
    if (gw_local_look(local) == GW_LOCAL_OURS)
        (void)unlink(local->path);
    if (local->fd >= 0)
        close(local->fd);
    local->fd = -1;
}

int gw_local_take(struct gw_local *local)
{
    int fd = local->fd;
    local->fd = -1;
    return fd;
}

/* A socket that listens keeps the number of its file from being given to another one. */
enum gw_local_place gw_local_look(const struct gw_local *local)
{
    struct stat info;
    if (lstat(local->path, &info) < 0)
        return errno == ENOENT || errno == ENOTDIR ? GW_LOCAL_GONE : GW_LOCAL_OURS;
    return info.st_dev == local->device && info.st_ino == local->inode ? GW_LOCAL_OURS
                                                                       : GW_LOCAL_OTHERS;
}
