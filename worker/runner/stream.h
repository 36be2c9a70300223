/* Keeps descriptors away from the numbers of the standard streams, 0 to 2.
 *
 * A task may close those streams. A descriptor that is opened or received afterwards could get such
 * a number. The output of tasks would then be written to it, and it would be closed when the
 * streams are restored (output.c). */
#ifndef GW_RUNNER_STREAM_H
#define GW_RUNNER_STREAM_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* gw_stream_apart returns a descriptor above 2 for the same file, and closes fd. If fd is above 2
 * or negative, it returns fd. Returns -1 and sets errno if no descriptor is available. */
static inline int gw_stream_apart(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), errnum = errno;
    close(fd);
    errno = errnum;
    return moved;
}

#endif
