/* Writes log segments.
 *
 * Invariants: a record is complete or not there at all. After a record is written, the mark is
 * moved behind its output. Both are then in the kernel, so a crash of this process loses nothing.
 * The mark is a mapped file, so moving it needs no system call. */
#include "worker/runner/log_segment.h"

#include "graph/base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

void gw_log_segment_init(struct gw_log_segment *segment, const char *log_dir, int capture_fd)
{
    char link[40], path[PATH_MAX];
    *segment = (struct gw_log_segment){.log_dir = log_dir};
    for (int i = 0; i < GW_LOG_SEGMENT_FILES; i++)
        segment->files[i].fd = -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", capture_fd);
    ssize_t bytes = readlink(link, path, sizeof path - 1);
    if (bytes <= 0)
        return;
    path[bytes] = '\0';
    const char *name = strrchr(path, '/');
    char *dot = strrchr(path, '.');
    if (!name || !dot || dot < name || (strcmp(dot, ".out") != 0 && strcmp(dot, ".err") != 0) ||
        strncmp(name + 1, GW_LOG_SEGMENT_PREFIX, strlen(GW_LOG_SEGMENT_PREFIX)) != 0 ||
        (size_t)(dot - name) > sizeof segment->name)
        return;
    memcpy(segment->name, name + 1, (size_t)(dot - name) - 1);
}

/* Opens the mark once. It is written before it is mapped, so that it has space on the disk. */
static int open_mark(struct gw_log_segment *segment)
{
    const struct gw_log_segment_mark zero = {0};
    char path[PATH_MAX];
    if (segment->mark)
        return 0;
    int n =
        snprintf(path, sizeof path, "%s/%s." GW_LOG_SEGMENT_MARK, segment->log_dir, segment->name);
    int fd = n < (int)sizeof path
                 ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;
    void *mark = MAP_FAILED;
    if (fd >= 0 && write(fd, &zero, sizeof zero) == (ssize_t)sizeof zero)
        mark = mmap(NULL, sizeof zero, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (mark == MAP_FAILED)
        return GW_EIO;
    segment->mark = mark;
    return 0;
}

static void store(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

void gw_log_segment_begin(struct gw_log_segment *segment, uint64_t attempt)
{
    if (!segment->asked && *segment->name)
        (void)open_mark(segment);
    segment->asked = true;
    if (segment->mark)
        store(&segment->mark->attempt, attempt);
}

void gw_log_segment_move(struct gw_log_segment *segment, const uint64_t begin[2])
{
    if (!segment->mark)
        return;
    store(&segment->mark->attempt, 0);
    store(&segment->mark->begin[0], begin[0]);
    store(&segment->mark->begin[1], begin[1]);
}

/* Returns true if the file is still open and still in its folder, from which another program may
 * have removed it. */
static bool is_well(const struct gw_log_segment_file *file)
{
    struct stat status;
    return fstat(file->fd, &status) == 0 && status.st_ino == file->inode &&
           status.st_dev == file->device && status.st_nlink > 0;
}

static int open_file(const struct gw_log_segment *segment, uint64_t job,
                     struct gw_log_segment_file *file)
{
    char path[PATH_MAX];
    struct stat status;
    int n = snprintf(path, sizeof path, "%s/%" PRIu64, segment->log_dir, job);
    if (n < 0 || n + sizeof segment->name + 2 > sizeof path)
        return GW_EIO;
    /* The folder mostly exists; open reports any other error */
    if (mkdir(path, 0700) < 0 && errno == ENOENT)
        (void)gw_dir_make(path, NULL);
    snprintf(path + n, sizeof path - (size_t)n, "/%s", segment->name);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        if (fd >= 0)
            close(fd);
        return GW_EIO;
    }
    *file = (struct gw_log_segment_file){
        job, (uint64_t)status.st_size, fd, status.st_ino, status.st_dev,
    };
    return 0;
}

static struct gw_log_segment_file *file_of(struct gw_log_segment *segment, uint64_t job)
{
    struct gw_log_segment_file *file = NULL;
    for (int i = 0; i < GW_LOG_SEGMENT_FILES; i++)
        if (segment->files[i].job == job)
            file = &segment->files[i];
    if (file && is_well(file))
        return file;
    if (!file)
        file = &segment->files[segment->next++ % GW_LOG_SEGMENT_FILES];
    if (file->job && is_well(file))
        close(file->fd);
    *file = (struct gw_log_segment_file){.fd = -1};
    return open_file(segment, job, file) == 0 ? file : NULL;
}

int gw_log_segment_add(struct gw_log_segment *segment, uint64_t job,
                       const struct gw_log_segment_record *record, const char *const said[2])
{
    struct gw_log_segment_file *file;
    if (!*segment->name || open_mark(segment) < 0 || !(file = file_of(segment, job)))
        return GW_EIO;
    const struct iovec parts[] = {
        {(void *)(uintptr_t)record, sizeof *record},
        {(void *)(uintptr_t)said[0], record->bytes[0]},
        {(void *)(uintptr_t)said[1], record->bytes[1]},
    };
    const uint64_t bytes = sizeof *record + record->bytes[0] + record->bytes[1];
    const ssize_t written = writev(file->fd, parts, 3);
    if (written == (ssize_t)bytes) {
        file->bytes += bytes;
        return 0;
    }
    if (written > 0 && ftruncate(file->fd, (off_t)file->bytes) < 0) {
        close(file->fd); /* records behind an incomplete one would not be found */
        *file = (struct gw_log_segment_file){.fd = -1};
        *segment->name = '\0';
    }
    return GW_EIO;
}
