/* Checkpoints on disk: a new file is complete and synced before it takes the name, and the old one
 * keeps a name of its own (PATH.previous), so that at any moment a whole checkpoint can be read.
 *
 *     PATH.new      being written; worthless after a crash
 *     PATH.old      a second name of the current one while the new one takes its place
 *     PATH.previous the one before the current one */
#include "gpu/train/checkpoint_image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct names {
    const char *path;
    char new[PATH_MAX], old[PATH_MAX], previous[PATH_MAX], folder[PATH_MAX];
};

static int names_init(struct names *names, const char *path, struct gw_error *error)
{
    if (strlen(path) + sizeof ".previous" > PATH_MAX || !path[0])
        return gw_error_set(error, GW_EINVAL,
                            "checkpoint: the path has %zu bytes, but must have 1 to %zu",
                            strlen(path), PATH_MAX - sizeof ".previous");
    names->path = path;
    (void)snprintf(names->new, PATH_MAX, "%s.new", path);
    (void)snprintf(names->old, PATH_MAX, "%s.old", path);
    (void)snprintf(names->previous, PATH_MAX, "%s.previous", path);
    const char *slash = strrchr(path, '/');
    if (!slash)
        (void)snprintf(names->folder, PATH_MAX, ".");
    else
        (void)snprintf(names->folder, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path),
                       path);
    return 0;
}

static int write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t written = write(fd, at, bytes < SSIZE_MAX ? bytes : SSIZE_MAX);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        at += written;
        bytes -= (size_t)written;
    }
    return 0;
}

/* Writes the whole checkpoint to PATH.new and syncs it. Returns -1 with errno set on failure. */
static int new_write_all(const struct gw_checkpoint *checkpoint, const char *path,
                         const void *front, size_t front_bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    int rc = write_all(fd, front, front_bytes);
    for (size_t i = 0; i < gw_checkpoint_sections(checkpoint) && rc == 0; i++) {
        size_t bytes;
        const void *data = gw_checkpoint_section(checkpoint, i, &bytes);
        rc = write_all(fd, data, bytes);
    }
    if (rc == 0)
        rc = fsync(fd);
    int saved = errno;
    if (close(fd) < 0 && rc == 0) {
        rc = -1;
        saved = errno;
    }
    if (rc < 0)
        (void)unlink(path);
    errno = saved;
    return rc;
}

/* Does the same with SIGXFSZ blocked. A file that exceeds the size limit of the process is then an
 * error, and no signal kills the program. */
static int new_write(const struct gw_checkpoint *checkpoint, const char *path, const void *front,
                     size_t front_bytes)
{
    const struct timespec now = {0};
    sigset_t too_large, before;
    (void)sigemptyset(&too_large);
    (void)sigaddset(&too_large, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &too_large, &before);
    int rc = new_write_all(checkpoint, path, front, front_bytes), saved = errno;
    if (rc < 0 && saved == EFBIG && !sigismember(&before, SIGXFSZ))
        (void)sigtimedwait(&too_large, NULL, &now);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return rc;
}

static const char *size_text(double bytes, char text[static 32])
{
    (void)snprintf(text, 32, bytes < 1 << 20 ? "%.0f bytes" : "%.1f MiB",
                   bytes < 1 << 20 ? bytes : bytes / (1 << 20));
    return text;
}

/* Makes the text of the error: what failed, how much space is left, and what the user can do. */
static int new_error(const struct gw_checkpoint *checkpoint, const struct names *names,
                     size_t front_bytes, struct gw_error *error)
{
    int reason = errno;
    char size[32], room[32];
    struct statvfs disk;
    double bytes = (double)front_bytes, left = 0;
    for (size_t i = 0; i < gw_checkpoint_sections(checkpoint); i++) {
        size_t section;
        (void)gw_checkpoint_section(checkpoint, i, &section);
        bytes += (double)section;
    }
    if (statvfs(names->folder, &disk) == 0)
        left = (double)disk.f_bavail * (double)disk.f_frsize;
    if (reason == EFBIG)
        return gw_error_set(error, GW_EIO,
                            "checkpoint %s: %s: it has %s, more than a file may have here "
                            "(ulimit -f); the one before it stays",
                            names->new, strerror(reason), size_text(bytes, size));
    if (reason == ENOSPC || reason == EDQUOT)
        return gw_error_set(error, GW_EIO,
                            "checkpoint %s: %s: it has %s, and %s are free there; make "
                            "room for three of them (this one, the current one and the one before "
                            "that); the current one stays",
                            names->new, strerror(reason), size_text(bytes, size),
                            size_text(left, room));
    return gw_error_set(error, GW_EIO, "checkpoint %s: %s", names->new, strerror(reason));
}

static int folder_sync(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = fsync(fd);
    int saved = errno;
    close(fd);
    errno = saved;
    return rc;
}

/* Renames PATH to PATH.previous and PATH.new to PATH. PATH exists all the time, except on file
 * systems without hard links: there, for a moment, only PATH.previous exists. */
static int new_install(const struct names *names)
{
    if (unlink(names->old) < 0 && errno != ENOENT)
        return -1;
    bool linked = link(names->path, names->old) == 0;
    if (!linked && errno != ENOENT && rename(names->path, names->previous) < 0)
        return -1;
    if (rename(names->new, names->path) < 0)
        return -1;
    if (linked && rename(names->old, names->previous) < 0)
        return -1;
    return folder_sync(names->folder);
}

int gw_checkpoint_file_write(const struct gw_checkpoint *checkpoint, const char *path,
                             struct gw_error *error)
{
    struct names names;
    struct stat status;
    void *front;
    size_t front_bytes;
    int rc = names_init(&names, path, error);
    if (rc < 0)
        return rc;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return gw_error_set(error, GW_EINVAL, "checkpoint %s: the path is not a regular file",
                            path);
    for (size_t i = 0; i < gw_checkpoint_sections(checkpoint); i++)
        if (gw_checkpoint_section_is_on_device(checkpoint, i))
            return gw_error_set(
                error, GW_EINVAL,
                "checkpoint %s: section \"%s\" is in memory of a GPU: save it with a "
                "gw_checkpoint_writer that has a stream",
                path, gw_checkpoint_section_name(checkpoint, i));
    if (gw_checkpoint_front(checkpoint, &front, &front_bytes) < 0)
        return gw_error_set(error, GW_ENOMEM, "checkpoint %s: out of memory", path);

    if (new_write(checkpoint, names.new, front, front_bytes) < 0)
        rc = new_error(checkpoint, &names, front_bytes, error);
    else if (new_install(&names) < 0)
        rc = gw_error_set(error, GW_EIO, "checkpoint %s: %s", path, strerror(errno));
    free(front);
    return rc;
}

/* Reads a whole file into memory from malloc. */
static int file_load(const char *path, void **image, size_t *bytes, struct gw_error *error)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return gw_error_set(error, errno == ENOENT ? GW_ENOENT : GW_EIO, "%s: %s", path,
                            strerror(errno));
    char *memory = NULL;
    size_t got = 0;
    int rc = 0;
    if (fstat(fd, &status) < 0)
        rc = gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        rc = gw_error_set(error, GW_ECORRUPT, "%s: not a file", path);
    else if (!(memory = malloc((size_t)status.st_size + 1)))
        rc = gw_error_set(error, GW_ENOMEM, "%s: %lld bytes", path, (long long)status.st_size);
    while (rc == 0 && got < (size_t)status.st_size) {
        ssize_t part = read(fd, memory + got, (size_t)status.st_size - got);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            rc = gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
        if (part <= 0)
            break;
        got += (size_t)part;
    }
    close(fd);
    if (rc < 0) {
        free(memory);
        return rc;
    }
    *image = memory;
    *bytes = got;
    return 0;
}

static int file_decode(const char *path, struct gw_checkpoint **checkpoint, struct gw_error *error)
{
    void *image = NULL;
    size_t bytes = 0;
    int rc = file_load(path, &image, &bytes, error);
    if (rc < 0)
        return rc;
    rc = gw_checkpoint_decode(image, bytes, checkpoint, error);
    if (rc < 0) {
        gw_error_prefix(error, "%s", path);
        free(image);
    }
    return rc;
}

/* Returns true if the error is about this file, so that the previous file should be tried. */
static bool is_unusable(int rc)
{
    return rc == GW_ENOENT || rc == GW_ECORRUPT || rc == GW_EVERSION;
}

int gw_checkpoint_file_read(const char *path, struct gw_checkpoint **checkpoint,
                            struct gw_error *error)
{
    struct names names;
    struct gw_error newest, before;
    int rc = names_init(&names, path, error);
    if (rc < 0)
        return rc;
    rc = file_decode(path, checkpoint, &newest);
    if (rc == 0)
        return 0;
    if (!is_unusable(rc))
        return gw_error_set(error, rc, "checkpoint %s", newest.text);

    int previous_rc = file_decode(names.previous, checkpoint, &before);
    if (previous_rc == 0) {
        gw_checkpoint_warn(*checkpoint, newest.text);
        return 0;
    }
    if (previous_rc == GW_ENOENT)
        return gw_error_set(error, rc, "checkpoint %s", newest.text);
    if (rc == GW_ENOENT)
        return gw_error_set(error, previous_rc, "checkpoint %s", before.text);
    return gw_error_set(error, rc, "checkpoint %.400s; %.400s", newest.text, before.text);
}
