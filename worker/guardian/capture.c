/* Capture files and their cap.
 *
 * The process writes to the file itself, never through a pipe that a slow reader could block; so
 * the cap is enforced from beside it: between two checks a file may be longer than its limit. */
#include "worker/guardian/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int gw_capture_open(struct gw_capture *capture, const char *path, uint64_t bytes_max,
                    struct gw_error *error)
{
    /* readable: a runner moves what it captured to a file of each task */
    int fd = *path ? open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
                   : open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return gw_error_set(error, GW_ESTART, "cannot open output file %s: %s", path,
                            strerror(errno));
    *capture = (struct gw_capture){.fd = fd, .bytes_max = *path ? bytes_max : 0};
    return 0;
}

void gw_capture_close(struct gw_capture *capture)
{
    if (capture->fd >= 0)
        close(capture->fd);
    capture->fd = -1;
}

bool gw_capture_check(struct gw_capture *capture)
{
    struct stat status;
    if (capture->fd < 0 || capture->bytes_max == 0 || fstat(capture->fd, &status) < 0)
        return false;

    char note[96];
    int length =
        snprintf(note, sizeof note, "\n[output cut at %" PRIu64 " bytes]\n", capture->bytes_max);
    uint64_t bytes = (uint64_t)status.st_size;
    bool grew = bytes != capture->bytes_last;
    if (bytes > capture->bytes_max + (uint64_t)length) {
        if (ftruncate(capture->fd, (off_t)capture->bytes_max) == 0 &&
            write(capture->fd, note, (size_t)length) == length)
            bytes = capture->bytes_max + (uint64_t)length;
    }
    capture->bytes_last = bytes;
    return grew;
}
