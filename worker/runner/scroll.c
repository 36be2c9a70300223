/* Writes log segments.
 *
 * Invariants: a record is complete or not there at all. After a record is written, the mark is
 * moved behind its output. Both are then in the kernel, so a crash of this process loses nothing.
 * The mark is a mapped file, so moving it needs no system call. */
#include "worker/runner/scroll.h"

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

void gw_scroll_init(struct gw_scroll *scroll, const char *log_dir, int capture_fd)
{
    char link[40], path[PATH_MAX];
    *scroll = (struct gw_scroll){.log_dir = log_dir};
    for (int i = 0; i < GW_SCROLL_FILES; i++)
        scroll->files[i].fd = -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", capture_fd);
    ssize_t bytes = readlink(link, path, sizeof path - 1);
    if (bytes <= 0)
        return;
    path[bytes] = '\0';
    const char *name = strrchr(path, '/');
    char *dot = strrchr(path, '.');
    if (!name || !dot || dot < name || (strcmp(dot, ".out") != 0 && strcmp(dot, ".err") != 0) ||
        strncmp(name + 1, GW_SCROLL_PREFIX, strlen(GW_SCROLL_PREFIX)) != 0 ||
        (size_t)(dot - name) > sizeof scroll->name)
        return;
    memcpy(scroll->name, name + 1, (size_t)(dot - name) - 1);
}

/* Opens the mark once. It is written before it is mapped, so that it has space on the disk. */
static int open_mark(struct gw_scroll *scroll)
{
    const struct gw_scroll_mark zero = {0};
    char path[PATH_MAX];
    if (scroll->mark)
        return 0;
    int n = snprintf(path, sizeof path, "%s/%s." GW_SCROLL_MARK, scroll->log_dir, scroll->name);
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
    scroll->mark = mark;
    return 0;
}

static void store(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
}

void gw_scroll_begin(struct gw_scroll *scroll, uint64_t attempt)
{
    if (!scroll->asked && *scroll->name)
        (void)open_mark(scroll);
    scroll->asked = true;
    if (scroll->mark)
        store(&scroll->mark->attempt, attempt);
}

void gw_scroll_move(struct gw_scroll *scroll, const uint64_t begin[2])
{
    if (!scroll->mark)
        return;
    store(&scroll->mark->attempt, 0);
    store(&scroll->mark->begin[0], begin[0]);
    store(&scroll->mark->begin[1], begin[1]);
}

/* Returns true if the file is still open and still in its folder, from which another program may
 * have removed it. */
static bool is_well(const struct gw_scroll_file *file)
{
    struct stat status;
    return fstat(file->fd, &status) == 0 && status.st_ino == file->inode &&
           status.st_dev == file->device && status.st_nlink > 0;
}

static int open_file(const struct gw_scroll *scroll, uint64_t job, struct gw_scroll_file *file)
{
    char path[PATH_MAX];
    struct stat status;
    int n = snprintf(path, sizeof path, "%s/%" PRIu64, scroll->log_dir, job);
    if (n < 0 || n + sizeof scroll->name + 2 > sizeof path)
        return GW_EIO;
    /* The folder mostly exists; open reports any other error */
    if (mkdir(path, 0700) < 0 && errno == ENOENT)
        (void)gw_dir_make(path, NULL);
    snprintf(path + n, sizeof path - (size_t)n, "/%s", scroll->name);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        if (fd >= 0)
            close(fd);
        return GW_EIO;
    }
    *file = (struct gw_scroll_file){
        job, (uint64_t)status.st_size, fd, status.st_ino, status.st_dev,
    };
    return 0;
}

static struct gw_scroll_file *file_of(struct gw_scroll *scroll, uint64_t job)
{
    struct gw_scroll_file *file = NULL;
    for (int i = 0; i < GW_SCROLL_FILES; i++)
        if (scroll->files[i].job == job)
            file = &scroll->files[i];
    if (file && is_well(file))
        return file;
    if (!file)
        file = &scroll->files[scroll->next++ % GW_SCROLL_FILES];
    if (file->job && is_well(file))
        close(file->fd);
    *file = (struct gw_scroll_file){.fd = -1};
    return open_file(scroll, job, file) == 0 ? file : NULL;
}

int gw_scroll_add(struct gw_scroll *scroll, uint64_t job, const struct gw_scroll_record *record,
                  const char *const said[2])
{
    struct gw_scroll_file *file;
    if (!*scroll->name || open_mark(scroll) < 0 || !(file = file_of(scroll, job)))
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
        *file = (struct gw_scroll_file){.fd = -1};
        *scroll->name = '\0';
    }
    return GW_EIO;
}
