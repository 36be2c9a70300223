/* Capture files and their limit.
 *
 * A process writes to the file itself, unless it must wait for its reader. There is no pipe
 * between, which a slow reader could block. So the limit is enforced from outside, and the file may
 * exceed it between two checks. The first and the last output is kept. The part between becomes a
 * hole in the file. Offsets then stay valid, and a reader can say how much is missing. If the limit
 * is small or the file system has no holes, the end is cut off, and replaced by a hole of the same
 * length. The file of a runner ends with a line of text instead, since parts of it are moved to the
 * files of tasks. The file of a held process may exceed its limit until the reader has read
 * everything. */
#include "worker/supervisor/capture.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/wire/enums.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOLE_ALIGN = 4096, HOLE_STEP = 64 << 10, HOLES_FROM = 1 << 20 };
enum { PIECE_BYTES = 64 << 10, COPY_PIECES = 8, DRAIN_PIECES = 64 };

/* Returns the length of the folder's part of a path. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* Returns true if the spare file can get this name: it must be on the same file system as the
 * folder. */
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

/* Takes the spare file. Its flags and position may have been changed by its last user, so they are
 * reset. */
static int take_spare(struct gw_capture *capture)
{
    int fd = capture->spare;
    capture->spare = -1;
    if (fcntl(fd, F_SETFL, O_APPEND) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Returns -1 if the file system has no files without names or if the folder does not exist. */
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

static int open_once(struct gw_capture *capture, const struct gw_capture_options *options)
{
    const char *path = options->path;
    const int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_CREAT;
    if (!*path)
        return open("/dev/null", O_RDWR | O_CLOEXEC);
    /* readable, since a runner moves captured output to the files of tasks */
    if (options->named || strlen(path) >= sizeof capture->path)
        return open(path, flags, 0600);
    int fd = open_nameless(capture, path);
    capture->nameless = fd >= 0;
    return fd >= 0 ? fd : open(path, flags | O_TRUNC, 0600);
}

/* Makes the folder if it is missing: the job is new here, or /tmp was cleaned up. */
static int open_path(struct gw_capture *capture, const struct gw_capture_options *options)
{
    char folder[PATH_MAX];
    int fd = open_once(capture, options);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)folder_length(options->path), options->path);
    return gw_dir_make(folder, NULL) < 0 ? -1 : open_once(capture, options);
}

static int open_pipe(struct gw_capture *capture)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    capture->pipe = ends[0];
    capture->child_fd = ends[1];
    return fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

int gw_capture_open(struct gw_capture *capture, const struct gw_capture_options *options,
                    struct gw_error *error)
{
    capture->nameless = false;
    capture->copied_bytes = capture->read_bytes = 0;
    capture->held = options->held && *options->path;
    capture->fd = open_path(capture, options);
    if (capture->fd < 0)
        return gw_error_set(error, GW_ESTART, "cannot open output file %s: %s", options->path,
                            strerror(errno));
    if (capture->held && open_pipe(capture) < 0) {
        gw_error_set(error, GW_ESTART, "cannot make a pipe for output: %s", strerror(errno));
        gw_capture_close(capture);
        return GW_ESTART;
    }
    capture->bytes_max = *options->path ? options->bytes_max : 0;
    capture->bytes_last = capture->hole_end = 0;
    capture->times = (struct gw_output_times){0};
    capture->whole = capture->named = options->named;
    (void)snprintf(capture->path, sizeof capture->path, "%s", options->path);
    return 0;
}

/* -- Held processes ------------------------------------------------------------------------------
 */

int gw_capture_child_fd(const struct gw_capture *capture)
{
    return capture->held ? capture->child_fd : capture->fd;
}

void gw_capture_started(struct gw_capture *capture)
{
    if (capture->child_fd >= 0)
        close(capture->child_fd);
    capture->child_fd = -1;
}

int gw_capture_poll_fd(const struct gw_capture *capture)
{
    bool ahead = capture->read_bytes < UINT64_MAX - GW_HELD_BYTES &&
                 capture->copied_bytes >= capture->read_bytes + GW_HELD_BYTES;
    return ahead ? -1 : capture->pipe;
}

/* If the disk is full, the process can print no more and gets a broken pipe. */
static void append(struct gw_capture *capture, const char *data, size_t bytes)
{
    capture->copied_bytes += bytes;
    while (bytes > 0) {
        ssize_t put = write(capture->fd, data, bytes);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            break;
        data += put;
        bytes -= (size_t)put;
    }
    if (bytes == 0)
        return;
    gw_log_warn("output file %s: %s", capture->path, strerror(errno));
    close(capture->pipe);
    capture->pipe = -1;
}

/* Copies a piece from the pipe. Returns false if the pipe is empty or closed. */
static bool copy_piece(struct gw_capture *capture)
{
    static char piece[PIECE_BYTES];
    ssize_t got = capture->pipe >= 0 ? read(capture->pipe, piece, sizeof piece) : -1;
    if (got > 0)
        append(capture, piece, (size_t)got);
    if (got == 0) {
        close(capture->pipe);
        capture->pipe = -1;
    }
    return got > 0;
}

void gw_capture_copy(struct gw_capture *capture)
{
    for (int i = 0; i < COPY_PIECES && gw_capture_poll_fd(capture) >= 0; i++)
        if (!copy_piece(capture))
            return;
}

void gw_capture_drain(struct gw_capture *capture)
{
    for (int i = 0; i < DRAIN_PIECES && copy_piece(capture); i++)
        ;
}

void gw_capture_on_read(struct gw_capture *capture, uint64_t offset)
{
    if (offset > capture->read_bytes)
        capture->read_bytes = offset;
}

/* -- The file ------------------------------------------------------------------------------------
 */

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
    /* ENOENT: the job's folder was removed */
    if (rc < 0 && errno != ENOENT)
        gw_log_warn("output file %s: %s", capture->path, strerror(errno));
}

/* Returns true if an unused file can be given to the next process. */
static bool is_untouched(const struct stat *status)
{
    return status->st_size == 0 && status->st_nlink == 0 && status->st_mode == (S_IFREG | 0600);
}

static uint64_t align(uint64_t bytes)
{
    return (bytes + HOLE_ALIGN - 1) / HOLE_ALIGN * HOLE_ALIGN;
}

/* Replaces the part between the first and the last half by a hole, at least HOLE_STEP at a time.
 * Returns false if the file cannot have a hole. */
static bool make_hole(struct gw_capture *capture, uint64_t bytes)
{
    const uint64_t begin = align(capture->bytes_max / 2);
    if (capture->whole || (capture->bytes_max < HOLES_FROM && !capture->held))
        return false;
    if (bytes <= capture->bytes_max)
        return true;
    uint64_t last = bytes - capture->bytes_max / 2;
    if (capture->held && last > capture->read_bytes)
        last = capture->read_bytes;
    const uint64_t end = last / HOLE_ALIGN * HOLE_ALIGN;
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

/* Cuts off the end of a runner's file. Returns the new length. */
static uint64_t cut_with_line(const struct gw_capture *capture, uint64_t bytes)
{
    char note[96];
    int length =
        snprintf(note, sizeof note, "\n[output cut at %" PRIu64 " bytes]\n", capture->bytes_max);
    if (bytes > capture->bytes_max + (uint64_t)length &&
        ftruncate(capture->fd, (off_t)capture->bytes_max) == 0 &&
        write(capture->fd, note, (size_t)length) == length)
        bytes = capture->bytes_max + (uint64_t)length;
    return bytes;
}

/* Replaces the end by a hole of whole blocks. A partial block would be read as zeros. */
static uint64_t cut_end(const struct gw_capture *capture, uint64_t bytes)
{
    const uint64_t begin = align(capture->bytes_max), end = align(bytes);
    if (bytes <= begin || ftruncate(capture->fd, (off_t)begin) < 0)
        return bytes;
    return ftruncate(capture->fd, (off_t)end) == 0 ? end : begin;
}

/* Cuts the file if it exceeds its limit. Returns false if it did not grow. */
static bool cut(struct gw_capture *capture, const struct stat *status)
{
    uint64_t bytes = (uint64_t)status->st_size;
    bool grew = bytes != capture->bytes_last;
    if (grew && !make_hole(capture, bytes) && !capture->held)
        bytes = capture->named ? cut_with_line(capture, bytes) : cut_end(capture, bytes);
    capture->bytes_last = bytes;
    return grew;
}

/* Notes when the output was written. The file of a runner gets no times, because parts of it are
 * moved to the files of tasks. */
static void note_time(struct gw_capture *capture, const struct stat *status)
{
    if (!capture->named && status->st_size > 0 && *capture->path)
        gw_output_times_add(&capture->times, capture->path, (uint64_t)status->st_size,
                            (uint64_t)status->st_mtim.tv_sec * GW_NS_PER_S +
                                (uint64_t)status->st_mtim.tv_nsec);
}

bool gw_capture_check(struct gw_capture *capture)
{
    struct stat status;
    if (capture->fd < 0 || !capture->bytes_max || fstat(capture->fd, &status) < 0)
        return false;
    note_time(capture, &status);
    return cut(capture, &status);
}

void gw_capture_close(struct gw_capture *capture)
{
    struct stat status;
    if (capture->fd < 0)
        return;
    gw_capture_started(capture);
    gw_capture_drain(capture);
    if (capture->pipe >= 0)
        close(capture->pipe);
    capture->pipe = -1;
    bool known = (capture->nameless || capture->bytes_max) && fstat(capture->fd, &status) == 0;
    if (known)
        note_time(capture, &status);
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
