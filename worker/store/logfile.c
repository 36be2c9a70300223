/* Reads and moves output of tasks. The files are written by users' programs, so they may contain
 * any bytes. */
#include "worker/store/logfile.h"

#include "graph/base/dir.h"
#include "graph/base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { TAIL_READ_BYTES = 16 * 1024, COPY_BYTES = 64 * 1024, FULL_BYTES = 16 * 1024 };

static ssize_t read_at(int fd, void *data, size_t bytes, uint64_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(fd, (char *)data + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* -- Last lines ----------------------------------------------------------------------------------
 */

/* Returns the length of a file without a hole at its end. */
static uint64_t data_bytes(int fd, const struct stat *info)
{
    if (info->st_size == 0 || lseek(fd, info->st_size - 1, SEEK_DATA) >= 0 || errno != ENXIO)
        return (uint64_t)info->st_size;
    off_t data, end = 0, hole = 0;
    while ((data = lseek(fd, hole, SEEK_DATA)) >= 0 && (hole = lseek(fd, data, SEEK_HOLE)) >= 0)
        end = hole;
    return (uint64_t)end;
}

void gw_logfile_tail(const char *path, char text[GW_TAIL_BYTES])
{
    char data[TAIL_READ_BYTES];
    struct stat info;
    text[0] = '\0';
    int fd = gw_files_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    ssize_t got = -1;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        uint64_t size = data_bytes(fd, &info);
        uint64_t begin = size > sizeof data ? size - sizeof data : 0;
        got = read_at(fd, data, (size_t)(size - begin), begin);
    }
    close(fd);
    if (got > 0)
        gw_tail_text(data, (size_t)got, text);
}

/* Returns true if the disk of a path is full. `folder` is the path or its nearest parent that
 * exists. */
static bool is_full(const char *path, char folder[PATH_MAX])
{
    struct statvfs disk;
    if (snprintf(folder, PATH_MAX, "%s", path) >= PATH_MAX)
        return false;
    for (char *slash; statvfs(folder, &disk) < 0; *slash = '\0')
        if (errno != ENOENT || !(slash = strrchr(folder, '/')) || slash == folder)
            return false;
    return (uint64_t)disk.f_bavail * disk.f_frsize < FULL_BYTES;
}

bool gw_logfile_full(const char *path, char line[GW_LOGFILE_FULL_BYTES])
{
    char folder[PATH_MAX];
    if (!is_full(path, folder))
        return false;
    (void)snprintf(line, GW_LOGFILE_FULL_BYTES,
                   "the disk of %.400s is full: what it printed may be missing", folder);
    return true;
}

void gw_logfile_say_full(const char *path, char text[GW_TAIL_BYTES])
{
    char full[GW_LOGFILE_FULL_BYTES], line[GW_LOGFILE_FULL_BYTES + 16];
    size_t used = strlen(text);
    if (!gw_logfile_full(path, full))
        return;
    int length = snprintf(line, sizeof line, "%sgangway: %s",
                          used && text[used - 1] != '\n' ? "\n" : "", full);
    if (used + (size_t)length >= GW_TAIL_BYTES)
        used = GW_TAIL_BYTES - 1 - (size_t)length;
    memcpy(text + used, line, (size_t)length + 1);
}

/* -- Parts ---------------------------------------------------------------------------------------
 */

int gw_logfile_read(const char *path, uint64_t offset, void *data, uint32_t *bytes, uint64_t *total,
                    struct gw_error *error)
{
    struct stat info;
    int fd = gw_files_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0 && errno == ENOENT) {
        *bytes = 0;
        *total = 0;
        return 0;
    }
    if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
        int errnum = fd < 0 ? errno : EINVAL;
        if (fd >= 0)
            close(fd);
        return gw_error_set(error, GW_EIO, "cannot read %s: %s", path, strerror(errnum));
    }
    ssize_t got = read_at(fd, data, *bytes, offset);
    close(fd);
    if (got < 0)
        return gw_error_set(error, GW_EIO, "cannot read %s: %s", path, strerror(errno));
    *bytes = (uint32_t)got;
    *total = (uint64_t)info.st_size > offset + (uint64_t)got ? (uint64_t)info.st_size
                                                             : offset + (uint64_t)got;
    if (!got)
        *total = (uint64_t)info.st_size;
    return 0;
}

void gw_logfile_next(const char *path, uint64_t offset, uint64_t *at, uint64_t *end)
{
    struct stat info;
    int fd = gw_files_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    *at = offset;
    *end = UINT64_MAX;
    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && offset < (uint64_t)info.st_size) {
        off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
        off_t hole = data >= 0 ? lseek(fd, data, SEEK_HOLE) : -1;
        if (data >= 0 || errno == ENXIO) /* ENXIO: the hole reaches the end of the file */
            *at = (uint64_t)(data >= 0 ? data : info.st_size);
        if (hole >= 0 && hole < info.st_size)
            *end = (uint64_t)hole;
    }
    close(fd);
}

/* -- Moving --------------------------------------------------------------------------------------
 */

/* Creates the folder of a path, and all its parents. Errors are reported by opening the file. */
static void make_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) >= sizeof folder)
        return;
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    /* Several folders are missing, for example after a cleanup of /tmp */
    if (gw_files_mkdir(folder, 0700) < 0 && errno == ENOENT)
        (void)gw_dir_make(folder, NULL);
}

static int write_all(int fd, const char *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t put = write(fd, data + done, bytes - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        done += (size_t)put;
    }
    return 0;
}

static int copy(int from, uint64_t at, int to)
{
    char chunk[COPY_BYTES];
    for (;;) {
        ssize_t got = read_at(from, chunk, sizeof chunk, at);
        if (got <= 0)
            return (int)got;
        if (write_all(to, chunk, (size_t)got) < 0)
            return -1;
        at += (uint64_t)got;
    }
}

int gw_logfile_append(const char *path, const char *lines, size_t bytes, struct gw_error *error)
{
    struct stat info;
    char last = '\n';
    int rc = 0,
        fd = gw_files_open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        rc = fd < 0 && errno != ENOENT ? -1 : 0;
    else if ((info.st_size > 0 && read_at(fd, &last, 1, (uint64_t)info.st_size - 1) < 0) ||
             (last != '\n' && write_all(fd, "\n", 1) < 0) || write_all(fd, lines, bytes) < 0)
        rc = -1;
    if (rc < 0)
        rc = gw_error_set(error, GW_EIO, "cannot write to %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return rc;
}

int gw_logfile_move(const char *from, uint64_t offset, const char *to, struct gw_error *error)
{
    struct stat info;
    int in = gw_files_open(from, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (in < 0 || fstat(in, &info) < 0 || info.st_size == 0 || (uint64_t)info.st_size == offset) {
        bool none = in >= 0 || errno == ENOENT;
        if (in >= 0)
            close(in);
        return none ? 0 : gw_error_set(error, GW_EIO, "cannot read %s: %s", from, strerror(errno));
    }
    if (offset > (uint64_t)info.st_size)
        offset = 0;
    make_folder(to);
    int rc = 0,
        out = gw_files_open(to, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (out < 0 || copy(in, offset, out) < 0 || ftruncate(in, 0) < 0)
        rc = gw_error_set(error, GW_EIO, "cannot move output to %s: %s", to, strerror(errno));
    if (out >= 0)
        close(out);
    close(in);
    return rc;
}

uint64_t gw_logfile_latest(const char *folder, uint32_t index)
{
    uint64_t latest = 0;
    DIR *files = gw_files_opendir(folder);
    if (!files)
        return 0;
    for (const struct dirent *entry; (entry = readdir(files)) != NULL;) {
        uint32_t of;
        uint64_t attempt;
        if (sscanf(entry->d_name, "%" SCNu32 ".%" SCNu64 ".", &of, &attempt) == 2 && of == index &&
            attempt > latest)
            latest = attempt;
    }
    closedir(files);
    return latest;
}
