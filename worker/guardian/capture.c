/* Capture files and their cap.
 *
 * The process writes to the file itself, never through a pipe that a slow reader could block; so
 * the cap is enforced from beside it: between two checks a file may take more than its limit. What
 * was written first and what was written last is kept: what lies between becomes a hole in the
 * file, so that offsets stay what they were, and who reads says how much that was. A file of small
 * limit, or on a file system without holes, is cut at its end; and that of a runner, whose tasks
 * have their parts of it moved. */
#include "worker/guardian/capture.h"

#include "graph/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOLE_ALIGN = 4096, HOLE_STEP = 64 << 10, HOLES_FROM = 1 << 20 };

/* The folder of a path, as far as it goes. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* Whether the spare can get this name: the folder is that of the last file, or beside it. */
static bool spare_fits(const struct gw_capture *capture, const char *path)
{
    char folder[PATH_MAX];
    struct stat status;
    size_t length = folder_length(path);
    if (capture->spare < 0 || !length)
        return false;
    if (length == folder_length(capture->path) && memcmp(path, capture->path, length) == 0)
        return true;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)length, path);
    return stat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_dev == capture->device;
}

/* As if it were new: who had it last may have left its flags and its place otherwise. */
static int take_spare(struct gw_capture *capture)
{
    int fd = capture->spare;
    capture->spare = -1;
    if (fcntl(fd, F_SETFL, O_APPEND) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    close(fd);
    return -1;
}

/* -1: this file system has no files without names, or there is no such folder. */
static int open_nameless(struct gw_capture *capture, const char *path)
{
    char folder[PATH_MAX];
    struct stat status;
    if (spare_fits(capture, path))
        return take_spare(capture);
    size_t length = folder_length(path);
    (void)snprintf(folder, sizeof folder, "%.*s", (int)length, path);
    int fd = length ? open(folder, O_RDWR | O_APPEND | O_TMPFILE | O_CLOEXEC, 0600) : -1;
    if (fd >= 0 && fstat(fd, &status) == 0) {
        capture->device = status.st_dev;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static int open_path(struct gw_capture *capture, const struct gw_capture_options *options)
{
    const char *path = options->path;
    const int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_CREAT;
    if (!*path)
        return open("/dev/null", O_RDWR | O_CLOEXEC);
    /* readable: a runner moves what it captured to a file of each task */
    if (options->named || strlen(path) >= sizeof capture->path)
        return open(path, flags, 0600);
    int fd = open_nameless(capture, path);
    capture->nameless = fd >= 0;
    return fd >= 0 ? fd : open(path, flags | O_TRUNC, 0600);
}

int gw_capture_open(struct gw_capture *capture, const struct gw_capture_options *options,
                    struct gw_error *error)
{
    capture->nameless = false;
    capture->fd = open_path(capture, options);
    if (capture->fd < 0)
        return gw_error_set(error, GW_ESTART, "cannot open output file %s: %s", options->path,
                            strerror(errno));
    capture->bytes_max = *options->path ? options->bytes_max : 0;
    capture->bytes_last = capture->hole_end = 0;
    capture->whole = options->named;
    (void)snprintf(capture->path, sizeof capture->path, "%s", options->path);
    return 0;
}

void gw_capture_name(struct gw_capture *capture)
{
    char link[64];
    if (capture->fd < 0 || !capture->nameless)
        return;
    capture->nameless = false;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", capture->fd);
    int rc = linkat(AT_FDCWD, link, AT_FDCWD, capture->path, AT_SYMLINK_FOLLOW);
    if (rc < 0 && errno == EEXIST && unlink(capture->path) == 0)
        rc = linkat(AT_FDCWD, link, AT_FDCWD, capture->path, AT_SYMLINK_FOLLOW);
    if (rc < 0 && errno != ENOENT)
        gw_log_warn("output file %s: %s", capture->path, strerror(errno)); /* else: its job went */
}

/* As little as it takes to be as good as new. */
static bool is_untouched(const struct stat *status)
{
    return status->st_size == 0 && status->st_nlink == 0 && status->st_mode == (S_IFREG | 0600);
}

/* Makes what is between the first and the last half a hole, a good piece at a time; false: it
 * cannot be one. */
static bool make_hole(struct gw_capture *capture, uint64_t bytes)
{
    const uint64_t begin = (capture->bytes_max / 2 + HOLE_ALIGN - 1) / HOLE_ALIGN * HOLE_ALIGN;
    if (capture->whole || capture->bytes_max < HOLES_FROM)
        return false;
    if (bytes <= capture->bytes_max)
        return true;
    const uint64_t end = (bytes - capture->bytes_max / 2) / HOLE_ALIGN * HOLE_ALIGN;
    if (end <= begin || end < capture->hole_end + HOLE_STEP)
        return true;
    if (fallocate(capture->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)begin,
                  (off_t)(end - begin)) < 0) {
        capture->whole = true;
        return false;
    }
    capture->hole_end = end;
    return true;
}

/* Cuts it; false: it did not grow. */
static bool cut(struct gw_capture *capture, const struct stat *status)
{
    char note[96];
    uint64_t bytes = (uint64_t)status->st_size;
    bool grew = bytes != capture->bytes_last;
    if (make_hole(capture, bytes)) {
        capture->bytes_last = bytes;
        return grew;
    }
    int length =
        snprintf(note, sizeof note, "\n[output cut at %" PRIu64 " bytes]\n", capture->bytes_max);
    if (bytes > capture->bytes_max + (uint64_t)length) {
        if (ftruncate(capture->fd, (off_t)capture->bytes_max) == 0 &&
            write(capture->fd, note, (size_t)length) == length)
            bytes = capture->bytes_max + (uint64_t)length;
    }
    capture->bytes_last = bytes;
    return grew;
}

bool gw_capture_check(struct gw_capture *capture)
{
    struct stat status;
    return capture->fd >= 0 && capture->bytes_max && fstat(capture->fd, &status) == 0 &&
           cut(capture, &status);
}

void gw_capture_close(struct gw_capture *capture)
{
    struct stat status;
    if (capture->fd < 0)
        return;
    bool known = (capture->nameless || capture->bytes_max) && fstat(capture->fd, &status) == 0;
    if (known && capture->bytes_max && status.st_size)
        (void)cut(capture, &status);
    if (known && capture->nameless && status.st_size)
        gw_capture_name(capture);
    if (known && capture->nameless && capture->spare < 0 && is_untouched(&status))
        capture->spare = capture->fd;
    else
        close(capture->fd);
    capture->fd = -1;
    capture->nameless = false;
}
