/* Creates working folders.
 *
 * The files are copies and not hard links: a task may write to its own files in spite of their
 * permission bits. With hard links, this would change the store and the files of other tasks. */
#include "worker/store/folder.h"

#include "graph/base/dir.h"
#include "graph/base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* GW_EIO is an error of this disk, so another host may succeed. GW_EINVAL means that the list of
 * files cannot be put into a folder on any host. */
static int code_of_errno(void)
{
    return errno == EEXIST || errno == ENOTDIR || errno == EISDIR || errno == ENAMETOOLONG
               ? GW_EINVAL
               : GW_EIO;
}

/* Creates the parent folders of a name. */
static int make_parents(const char *folder, const char *name, struct gw_error *error)
{
    char path[PATH_MAX];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        int length = snprintf(path, sizeof path, "%s/%.*s", folder, (int)(slash - name), name);
        if (length >= (int)sizeof path)
            return gw_error_set(error, GW_EINVAL,
                                "%s: the path, or a path below it, is longer than %d bytes", name,
                                PATH_MAX - 1);
        if (gw_files_mkdir(path, 0700) < 0 && errno != EEXIST)
            return gw_error_set(error, code_of_errno(), "cannot make %s: %s", path,
                                strerror(errno));
    }
    return 0;
}

/* Copies a whole file, inside the kernel if possible. */
static int copy(int from, int to)
{
    char chunk[64 * 1024];
    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    ssize_t got;
    while ((got = copy_file_range(from, NULL, to, NULL, 1 << 30, 0)) > 0)
        ;
    if (got == 0)
        return 0;
    if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return -1;
    while ((got = read(from, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno != EINTR)
            return -1;
        for (ssize_t done = 0, put; done < got; done += put)
            if ((put = write(to, chunk + done, (size_t)(got - done))) < 0) {
                if (errno != EINTR)
                    return -1;
                put = 0;
            }
    }
    return 0;
}

/* Only its owner may change the mode of a file. */
static int set_mode(int fd, const char *path, mode_t mode)
{
    return gw_files_are_remote(path) ? gw_files_chmod(path, mode) : fchmod(fd, mode);
}

/* Creates a symbolic link. The file's content is its target. */
static int lay_link(const char *path, int from, const char *name, struct gw_error *error)
{
    char target[PATH_MAX];
    const ssize_t got = read(from, target, sizeof target - 1);
    if (got > 0) {
        target[got] = '\0';
        if (gw_files_symlink(target, path) == 0)
            return 0;
    }
    return gw_error_set(error, got < 0 ? GW_EIO : code_of_errno(), "cannot make the link %s: %s",
                        name, strerror(errno));
}

/* Symbolic links are created after all files and folders, so that no file is written through a
 * link. */
static int lay_file(const char *folder, const struct gw_blobs *blobs,
                    const struct gw_manifest_file *file, bool links, struct gw_error *error)
{
    char path[PATH_MAX];
    uint64_t bytes;
    int from, to = -1;
    if (snprintf(path, sizeof path, "%s/%s", folder, file->name) >= (int)sizeof path)
        return gw_error_set(error, GW_EINVAL,
                            "%s: the path, or a path below it, is longer than %d bytes", file->name,
                            PATH_MAX - 1);
    int rc = links ? 0 : make_parents(folder, file->name, error);
    if (rc < 0 || links != S_ISLNK(file->mode))
        return rc;
    rc = gw_blobs_open(blobs, file->hash, &from, &bytes, error);
    if (rc < 0)
        return gw_error_prefix(error, "%s", file->name);
    if (links) {
        rc = lay_link(path, from, file->name, error);
        goto out;
    }
    to = gw_files_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to < 0 || copy(from, to) < 0 || set_mode(to, path, file->mode & 0777) < 0)
        rc = gw_error_set(error, code_of_errno(), "cannot write %s: %s", file->name,
                          strerror(errno));
out:
    /* Marks the content as used, so that it is removed later than unused content */
    gw_blobs_use(from);
    close(from);
    if (to >= 0 && close(to) < 0 && rc == 0)
        rc = gw_error_set(error, GW_EIO, "cannot write %s: %s", file->name, strerror(errno));
    return rc;
}

int gw_folder_lay(const char *path, const struct gw_blobs *blobs,
                  const struct gw_manifest *manifest, struct gw_error *error)
{
    if (gw_files_mkdir(path, 0700) < 0)
        return gw_error_set(error, GW_EIO, "cannot make %s: %s", path, strerror(errno));
    int rc = 0;
    for (uint32_t i = 0; i < manifest->count && rc == 0; i++)
        rc = lay_file(path, blobs, &manifest->files[i], false, error);
    for (uint32_t i = 0; i < manifest->count && rc == 0; i++)
        rc = lay_file(path, blobs, &manifest->files[i], true, error);
    if (rc < 0)
        (void)gw_dir_remove(path, NULL);
    return rc;
}

void gw_folder_count(const char *path, uint64_t entries_max, uint64_t *bytes, uint64_t *free_bytes)
{
    if (gw_files_are_remote(path)) {
        (void)gw_files_count(path, bytes, free_bytes);
        return;
    }
    uint64_t entries = 0;
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    struct statvfs disk;
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    *bytes = 0;
    for (const FTSENT *entry; tree && entries <= entries_max && (entry = fts_read(tree)); entries++)
        if (entry->fts_info != FTS_DP && entry->fts_info != FTS_NS && entry->fts_info != FTS_ERR)
            *bytes += (uint64_t)entry->fts_statp->st_blocks * 512;
    if (tree)
        fts_close(tree);
    if (entries > entries_max)
        *bytes = INT64_MAX;
    *free_bytes = statvfs(path, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
}

int gw_folder_lock(const char *path, int operation)
{
    struct stat locked, there;
    int fd = gw_files_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (flock(fd, operation | LOCK_NB) == 0 && fstat(fd, &locked) == 0 &&
        gw_files_stat(path, &there) == 0 && there.st_ino == locked.st_ino)
        return fd;
    close(fd); /* locked, or renamed by a process that is removing it */
    return -1;
}

void gw_folder_sweep(const char *dir)
{
    DIR *listing = gw_files_opendir(dir);
    char path[PATH_MAX];
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid <= 0 || *end || (pid != getpid() && (kill((pid_t)pid, 0) == 0 || errno != ESRCH)))
            continue;
        if (snprintf(path, sizeof path, "%s/%s", dir, entry->d_name) < (int)sizeof path)
            (void)gw_dir_remove(path, NULL);
    }
    if (listing)
        closedir(listing);
}
