/* Creates and removes private folders. */
#include "graph/base/dir.h"

#include "graph/base/files.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_one(const char *path, struct gw_error *error)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return gw_error_set(error, GW_EIO, "cannot make %s: %s", path, strerror(errno));
    return 0;
}

int gw_dir_make(const char *path, struct gw_error *error)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (gw_files_are_remote(path))
        return gw_files_make(path) == 0
                   ? 0
                   : gw_error_set(error, GW_EIO, "cannot make %s: %s", path, strerror(errno));
    if (length == 0 || length >= sizeof part)
        return gw_error_set(error, GW_EINVAL,
                            "\"%.64s\" cannot be the path of a folder: a path has 1 to %d bytes",
                            path, PATH_MAX - 1);

    memcpy(part, path, length + 1);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = make_one(part, error);
        if (rc < 0)
            return rc;
        *slash = '/';
    }
    int rc = make_one(path, error);
    if (rc < 0)
        return rc;

    struct stat info;
    if (lstat(path, &info) < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return gw_error_set(error, GW_EPERM, "%s is not a folder: remove it, or give another path",
                            path);
    if (info.st_uid != geteuid())
        return gw_error_set(error, GW_EPERM,
                            "the folder %s belongs to another user: give another path", path);
    if (info.st_mode & 077)
        return gw_error_set(error, GW_EPERM, "%s is open to other users: chmod 700 it", path);
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info;
    (void)ftw;
    int rc = kind == FTW_DP || kind == FTW_D || kind == FTW_DNR ? rmdir(path) : unlink(path);
    return rc < 0 && errno != ENOENT ? -1 : 0;
}

int gw_dir_remove(const char *path, struct gw_error *error)
{
    if (gw_files_are_remote(path))
        return gw_files_remove(path) == 0
                   ? 0
                   : gw_error_set(error, GW_EIO, "cannot remove %s: %s", path, strerror(errno));
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT)
        return gw_error_set(error, GW_EIO, "cannot remove %s: %s", path, strerror(errno));
    return 0;
}
