/* Programs as folders. A folder is created under another name and then renamed, so a folder that
 * exists is complete. The symbolic link `main` in it points to the executable. gw_program_find
 * reads this link. */
#include "worker/store/program.h"

#include "graph/base/dir.h"
#include "graph/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void folder_of(const char *dir, const uint8_t hash[GW_HASH_BYTES], char path[PATH_MAX])
{
    char text[GW_HASH_TEXT_BYTES];
    gw_hash_format(hash, text);
    (void)snprintf(path, PATH_MAX, "%s/%s", dir, text);
}

/* Writes folder/name. Returns false if the path is too long. */
static bool join(char path[PATH_MAX], const char *folder, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return length > 0 && length < PATH_MAX;
}

bool gw_program_find(const char *dir, const uint8_t hash[GW_HASH_BYTES], char path[PATH_MAX])
{
    char folder[PATH_MAX], link[PATH_MAX], name[NAME_MAX + 1];
    folder_of(dir, hash, folder);
    if (!join(link, folder, "main"))
        return false;
    ssize_t length = gw_files_readlink(link, name, sizeof name - 1);
    if (length <= 0)
        return false;
    name[length] = '\0';
    return join(path, folder, name) && gw_files_access(path, X_OK) == 0;
}

/* Copies a file for a separate user, who must not reach the content store. */
static int copy_file(const struct gw_program_build *build, uint32_t i, const char *to,
                     struct gw_error *error)
{
    char chunk[64 * 1024];
    uint64_t bytes;
    ssize_t got = 0;
    int from,
        rc = gw_blobs_open(build->blobs, build->manifest->files[i].hash, &from, &bytes, error);
    if (rc < 0)
        return rc;
    int fd = gw_files_open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    bool well = fd >= 0 || errno == EEXIST;
    while (fd >= 0 && well && (got = read(from, chunk, sizeof chunk)) > 0)
        well = write(fd, chunk, (size_t)got) == got;
    if (!well || got < 0)
        rc = gw_error_set(error, GW_EIO, "cannot write %s: %s", to, strerror(errno));
    close(from);
    if (fd >= 0 && close(fd) < 0 && rc == 0)
        rc = gw_error_set(error, GW_EIO, "cannot write %s: %s", to, strerror(errno));
    return rc;
}

static int link_file(const struct gw_program_build *build, uint32_t i, const char *to,
                     struct gw_error *error)
{
    char from[PATH_MAX];
    if (gw_files_are_remote(to))
        return copy_file(build, i, to, error);
    gw_blobs_path(build->blobs, build->manifest->files[i].hash, from);
    /* If two libraries have the same name, the first one counts */
    if (link(from, to) < 0 && errno != EEXIST)
        return gw_error_set(error, errno == ENOENT ? GW_ENOENT : GW_EIO, "cannot link %s: %s", to,
                            strerror(errno));
    return 0;
}

static int fill(const struct gw_program_build *build, const char *folder, struct gw_error *error)
{
    char lib[PATH_MAX], link_path[PATH_MAX], path[PATH_MAX];
    const char *name = build->manifest->files[0].name;
    if (strcmp(name, "main") == 0 || strcmp(name, "lib") == 0)
        name = "program"; /* these two names are reserved */
    if (!join(lib, folder, "lib") || !join(link_path, folder, "main") || !join(path, folder, name))
        return gw_error_set(error, GW_EINVAL,
                            "%s: the path, or a path below it, is longer than %d bytes", folder,
                            PATH_MAX - 1);
    if (gw_files_mkdir(folder, 0700) < 0 || gw_files_mkdir(lib, 0700) < 0)
        return gw_error_set(error, GW_EIO, "cannot make %s: %s", lib, strerror(errno));
    for (uint32_t i = 0; i < build->manifest->count; i++)
        if (strchr(build->manifest->files[i].name, '/'))
            return gw_error_set(error, GW_EINVAL,
                                "a program must not contain a file named %s: rename the file",
                                build->manifest->files[i].name);
    int rc = link_file(build, 0, path, error);
    for (uint32_t i = 1; i < build->manifest->count && rc == 0; i++)
        rc = join(path, lib, build->manifest->files[i].name)
                 ? link_file(build, i, path, error)
                 : gw_error_set(error, GW_EINVAL,
                                "%s: the path, or a path below it, is longer than %d bytes", lib,
                                PATH_MAX - 1);
    if (rc == 0 && gw_files_symlink(name, link_path) < 0)
        rc = gw_error_set(error, GW_EIO, "cannot make %s: %s", link_path, strerror(errno));
    return rc;
}

int gw_program_build(const struct gw_program_build *build, char path[PATH_MAX],
                     struct gw_error *error)
{
    char folder[PATH_MAX], fresh[PATH_MAX];
    if (gw_program_find(build->dir, build->hash, path))
        return 0;
    folder_of(build->dir, build->hash, folder);
    int length = snprintf(fresh, sizeof fresh, "%s.%d", folder, (int)getpid());
    if (length < 0 || length >= (int)sizeof fresh)
        return gw_error_set(error, GW_EINVAL,
                            "%s: the path, or a path below it, is longer than %d bytes", folder,
                            PATH_MAX - 1);
    (void)gw_dir_remove(fresh, NULL); /* left by a dead process with the same process id */
    int rc = gw_dir_make(build->dir, error);
    if (rc == 0)
        rc = fill(build, fresh, error);
    if (rc == 0 && !gw_program_find(build->dir, build->hash, path))
        (void)gw_dir_remove(folder, NULL); /* a cleanup has removed a part of the folder */
    if (rc == 0 && gw_files_rename(fresh, folder) < 0 && errno != EEXIST && errno != ENOTEMPTY)
        rc = gw_error_set(error, GW_EIO, "cannot make %s: %s", folder, strerror(errno));
    (void)gw_dir_remove(fresh, NULL);
    if (rc == 0 && !gw_program_find(build->dir, build->hash, path))
        rc = gw_error_set(error, GW_EIO, "%s is damaged: remove it", folder);
    return rc;
}
