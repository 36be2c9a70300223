/* Descriptors that stay out of the places of the streams, 0 to 2.
 *
 * A task may close those. What is opened or received then would come to lie there: what the task
 * prints would be written into it, and when the streams are put back (output.c) it is gone. */
#ifndef GW_RUNNER_STREAM_H
#define GW_RUNNER_STREAM_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* gw_stream_apart gives the same file as a descriptor above 2, in place of fd, which it takes; one
 * that is above 2 (or negative: there is none) as it is. -1, and errno, when there is no other. */
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
