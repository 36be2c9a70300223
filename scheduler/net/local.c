/* The socket by which processes of this host come in. What lies there from a scheduler that is gone
 * is removed; one that is served never is. */
#include "scheduler/net/local.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
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

int gw_local_listen(const char *dir, char path[GW_LOCAL_PATH_BYTES], int *fd,
                    struct gw_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if ((size_t)snprintf(path, GW_LOCAL_PATH_BYTES, "%s/scheduler.sock", dir) >=
        GW_LOCAL_PATH_BYTES)
        return gw_error_set(error, GW_EINVAL,
                            "%s: too long for a socket's path (%zu bytes at most)", dir,
                            GW_LOCAL_PATH_BYTES - sizeof "/scheduler.sock");
    memcpy(address.sun_path, path, GW_LOCAL_PATH_BYTES);
    if (somebody_serves(&address))
        return gw_error_set(error, GW_EEXIST, "another scheduler serves %s", dir);
    (void)unlink(path);

    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || bind(made, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(made, 128) < 0) {
        gw_error_set(error, GW_EIO, "cannot listen at %s: %s", path, strerror(errno));
        if (made >= 0)
            close(made);
        return GW_EIO;
    }
    *fd = made;
    return 0;
}
