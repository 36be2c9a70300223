/* Removes old folders of workers. Each worker holds a shared lock on its folder (see enter_folder
 * in worker/net/worker.c), so a folder is unused if this process gets the exclusive lock. A folder
 * is renamed before it is removed: a worker that waits for the lock then makes a new folder, and
 * never finds a half-removed one. */
#include "client/cli/hosts/stale_dirs.h"

#include "client/cli/lib/cli.h"
#include "graph/base/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GONE ".gone"

enum { ROOM = PATH_MAX + 300 };

struct contents {
    time_t used; /* latest modification time */
    bool jobs;   /* the folder has output, checkpoints or files of jobs */
};

static void add_time(struct contents *contents, int dir_fd, const char *name)
{
    struct stat status;
    if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_mtim.tv_sec > contents->used)
        contents->used = status.st_mtim.tv_sec;
}

static void look_into(struct contents *contents, const char *path, const char *name)
{
    char folder[ROOM];
    (void)snprintf(folder, sizeof folder, "%s/%s", path, name);
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        contents->jobs |= (*entry->d_name >= '0' && *entry->d_name <= '9') ||
                          strcmp(entry->d_name, ".copies") == 0;
        add_time(contents, dirfd(dir), entry->d_name);
    }
    if (dir)
        (void)closedir(dir);
}

static void drop(const char *path)
{
    struct gw_error error;
    if (gw_dir_remove(path, &error) < 0)
        fprintf(stderr, "gangway worker: %s\n", error.text);
}

static void drop_all(const char *path)
{
    char gone[ROOM + 8];
    (void)snprintf(gone, sizeof gone, "%s" GONE, path);
    const size_t length = strlen(path), end = sizeof GONE - 1;
    const bool begun = length > end && strcmp(path + length - end, GONE) == 0;
    if (!begun && rename(path, gone) < 0 && errno != EEXIST && errno != ENOTEMPTY)
        fprintf(stderr, "gangway worker: cannot remove %s: %s\n", path, strerror(errno));
    else
        drop(begun ? path : gone);
}

/* Removes an unused folder, or the files in it that can be sent again. The caller holds the lock.
 */
static void tidy(const char *path, int lock_fd)
{
    static const char *const retained[] = {"checkpoints", "logs", "work"};
    static const char *const shipped[] = {"programs", "files", "blobs"};
    char part[ROOM];
    struct contents contents = {0};
    struct stat status;
    if (fstat(lock_fd, &status) == 0)
        contents.used = status.st_mtim.tv_sec;
    for (size_t i = 0; i < sizeof retained / sizeof *retained; i++)
        look_into(&contents, path, retained[i]);
    const bool old = time(NULL) - contents.used > (time_t)GW_STALE_DIRS_DAYS * 24 * 3600;
    if (contents.jobs && old)
        gw_cli_message("gangway worker: removing %s, with output and checkpoints: no worker has "
                       "used it for %d days",
                       path, GW_STALE_DIRS_DAYS);
    if (!contents.jobs || old) {
        drop_all(path);
        return;
    }
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++) {
        (void)snprintf(part, sizeof part, "%s/%s", path, shipped[i]);
        if (access(part, F_OK) == 0)
            drop(part);
    }
}

void gw_stale_dirs_tidy(const char *dir, const char *prefix, const char *own)
{
    char path[PATH_MAX + 256 + 2], lock[ROOM];
    DIR *all = opendir(dir);
    for (const struct dirent *entry; all && (entry = readdir(all));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || strcmp(entry->d_name, own) == 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        (void)snprintf(lock, sizeof lock, "%s/lock", path);
        int fd = open(lock, O_RDWR | O_CLOEXEC |
                                O_NOFOLLOW); /* no lock file: a worker is making the folder */
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            tidy(path, fd);
        if (fd >= 0)
            close(fd);
    }
    if (all)
        (void)closedir(all);
}
