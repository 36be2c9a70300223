/* The unix socket for processes of this host. The socket file of a scheduler that is gone is
 * removed, but never one that is served. The path of the cluster's folder may be too long for a
 * socket. Then the socket is in another folder, which may be removed at any time, and the cluster's
 * folder has a link to it. */
#include "scheduler/net/local.h"

#include "graph/wire/endpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if a process accepts connections at this path. */
static bool somebody_serves(const char *path)
{
    int fd, rc = gw_endpoint_connect(path, &fd, NULL);
    if (rc == 0)
        close(fd);
    return rc == 0 || rc == GW_EAGAIN;
}

/* Writes the link to the socket into the cluster's folder, atomically. */
static int place_link(const struct gw_local *local, struct gw_error *error)
{
    char beside[PATH_MAX + 8];
    (void)snprintf(beside, sizeof beside, "%s.new", local->link);
    (void)unlink(beside);
    if (symlink(local->path, beside) == 0 && rename(beside, local->link) == 0)
        return 0;
    return gw_error_set(error, GW_EIO, "cannot write %s: %s", local->link, strerror(errno));
}

static int set_paths(const struct gw_local_place_options *options, struct gw_local *local,
                     struct gw_error *error)
{
    const char *folder = options->sockets ? options->sockets : options->dir;
    *local->link = '\0';
    if (options->sockets && snprintf(local->link, sizeof local->link, "%s/scheduler.sock",
                                     options->dir) >= (int)sizeof local->link)
        return gw_error_set(error, GW_EINVAL,
                            "%.64s...: the path, or a path below it, is longer than %d bytes",
                            options->dir, PATH_MAX - 1);
    if ((size_t)snprintf(local->path, GW_LOCAL_PATH_BYTES, "%s/scheduler.sock", folder) >=
        GW_LOCAL_PATH_BYTES)
        return gw_error_set(error, GW_EINVAL,
                            "%s: the folder of the scheduler's socket may have a path of at most "
                            "%zu bytes: give a shorter one",
                            folder, GW_LOCAL_PATH_BYTES - sizeof "/scheduler.sock");
    return 0;
}

int gw_local_open(const struct gw_local_place_options *options, struct gw_local *local,
                  struct gw_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    local->fd = -1;
    int rc = set_paths(options, local, error);
    if (rc < 0)
        return rc;
    local->was_there = lstat(*local->link ? local->link : local->path, &info) == 0;
    if (somebody_serves(local->path) || (*local->link && somebody_serves(local->link)))
        return gw_error_set(
            error, GW_EEXIST,
            "another scheduler already uses the folder %s: end it, or give another folder by --dir",
            options->dir);
    memcpy(address.sun_path, local->path, GW_LOCAL_PATH_BYTES);
    (void)unlink(local->path);

    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || bind(made, (struct sockaddr *)&address, sizeof address) < 0 ||
        lstat(local->path, &info) < 0 || listen(made, 128) < 0)
        rc = gw_error_set(error, GW_EIO, "cannot listen at %s: %s", local->path, strerror(errno));
    else if (*local->link)
        rc = place_link(local, error);
    if (rc < 0) {
        if (made >= 0)
            close(made);
        return rc;
    }
    local->device = info.st_dev;
    local->inode = info.st_ino;
    local->fd = made;
    return 0;
}

void gw_local_close(struct gw_local *local, bool stays)
{
    /* Another scheduler may be creating its socket in the same folder now. */
    if (!stays && gw_local_look(local) == GW_LOCAL_OURS) {
        (void)unlink(local->path);
        if (*local->link) {
            (void)unlink(local->link);
            *strrchr(local->path, '/') = '\0';
            (void)rmdir(local->path); /* fails if workers have their sockets there */
        }
    }
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

/* Compares the inode of the socket file. While this socket is open, the kernel cannot reuse its
 * inode for another file. */
enum gw_local_place gw_local_look(const struct gw_local *local)
{
    struct stat info;
    char named[GW_LOCAL_PATH_BYTES] = "";
    if (*local->link && readlink(local->link, named, sizeof named - 1) < 0)
        return errno == ENOENT || errno == ENOTDIR ? GW_LOCAL_GONE : GW_LOCAL_OTHERS;
    if (*local->link && strcmp(named, local->path) != 0)
        return GW_LOCAL_OTHERS;
    if (lstat(local->path, &info) < 0)
        return errno == ENOENT || errno == ENOTDIR ? GW_LOCAL_GONE : GW_LOCAL_OURS;
    return info.st_dev == local->device && info.st_ino == local->inode ? GW_LOCAL_OURS
                                                                       : GW_LOCAL_OTHERS;
}
