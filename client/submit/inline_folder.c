/* The working folder of a task that runs in this process. The folder holds copies of the task's
 * files, so the task cannot change the user's own files, as on a worker. */
#include "client/submit/inline_folder.h"

#include "client/submit/file_upload.h"
#include "graph/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WALK_FDS = 16 };

static int fail(const char *path, struct gw_error *error)
{
    return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
}

/* Makes the parent folders of `path`. The first `from` bytes of the path exist already. */
static int make_way(char *path, size_t from)
{
    for (char *at = path + from; (at = strchr(at, '/')); at++) {
        *at = '\0';
        int rc = mkdir(path, 0777);
        *at = '/';
        if (rc < 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

static int copy(int from, int to, uint64_t bytes)
{
    while (bytes > 0) {
        ssize_t n = sendfile(to, from, NULL, bytes < INT_MAX ? (size_t)bytes : INT_MAX);
        if (n <= 0)
            return -1;
        bytes -= (uint64_t)n;
    }
    return 0;
}

static int put(const char *folder, const struct gw_file_upload *upload,
               const struct gw_file_upload_file *file, struct gw_error *error)
{
    char path[PATH_MAX];
    uint64_t bytes;
    int from, n = snprintf(path, sizeof path, "%s/%s", folder, file->name);
    if (n < 0 || (size_t)n >= sizeof path)
        return gw_error_set(error, GW_ELIMIT,
                            "%s: the path, or a path below it, is longer than %d bytes", file->name,
                            PATH_MAX - 1);
    int rc = gw_file_upload_open(upload, file->hash, &from, &bytes);
    if (rc < 0)
        return gw_error_set(error, rc, "%s: %s", file->path, gw_error_text(rc));
    if (file->link) {
        if (make_way(path, strlen(folder) + 1) < 0 || symlink(file->link, path) < 0)
            rc = fail(path, error);
        close(from);
        return rc;
    }
    int to = make_way(path, strlen(folder) + 1) < 0
                 ? -1
                 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file->mode & 0777);
    if (to < 0 || copy(from, to, bytes) < 0)
        rc = fail(path, error);
    close(from);
    if (to >= 0 && close(to) < 0 && rc == 0)
        rc = fail(path, error);
    return rc;
}

static int fill(const char *folder, const char *const *texts, struct gw_error *error)
{
    struct gw_file_upload *upload;
    int rc = gw_file_upload_new(texts, NULL, &upload, error);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < upload->count && rc == 0; i++)
        rc = put(folder, upload, &upload->files[i], error);
    gw_file_upload_free(upload);
    return rc;
}

int gw_inline_folder_open(const char *const *texts, struct gw_inline_folder *folder,
                          struct gw_error *error)
{
    const char *top = getenv("TMPDIR");
    *folder = (struct gw_inline_folder){.back = -1};
    if (!texts || !texts[0])
        return 0;
    if (asprintf(&folder->path, "%s/gangway-inline-XXXXXX", top && *top ? top : "/tmp") < 0) {
        folder->path = NULL;
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    if (!mkdtemp(folder->path)) {
        int rc = fail(folder->path, error);
        free(folder->path);
        folder->path = NULL;
        return rc;
    }
    int rc = fill(folder->path, texts, error);
    folder->back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rc == 0 && (folder->back < 0 || chdir(folder->path) < 0))
        rc = fail(folder->path, error);
    if (rc < 0)
        gw_inline_folder_close(folder);
    return rc;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    (void)remove(path);
    return 0;
}

void gw_inline_folder_close(struct gw_inline_folder *folder)
{
    if (folder->back >= 0) {
        if (fchdir(folder->back) < 0)
            gw_log_plain(GW_LOG_ERROR,
                         "gangway: ", "cannot return to the earlier working folder: %s",
                         strerror(errno));
        close(folder->back);
    }
    if (folder->path)
        (void)nftw(folder->path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
    free(folder->path);
    *folder = (struct gw_inline_folder){.back = -1};
}
