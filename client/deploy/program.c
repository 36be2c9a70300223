/* Collects the files of this program: the executable and its libraries. */
#include "client/deploy/program.h"

#include "client/deploy/hashes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* System folders of Debian, Ubuntu, Fedora, SUSE and Arch. */
static const char *const system_dirs[] = {
    "/lib/",     "/lib32/",     "/lib64/",     "/libx32/",
    "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/libx32/",
};

bool gw_program_is_system(const char *path)
{
    for (size_t i = 0; i < sizeof system_dirs / sizeof *system_dirs; i++)
        if (strncmp(path, system_dirs[i], strlen(system_dirs[i])) == 0)
            return true;
    return false;
}

/* -- The files of the program --------------------------------------------------------------------
 */

struct listing {
    struct gw_program *program;
    struct gw_error *error;
    int rc;
};

static int add_file(struct listing *listing, const char *path, const char *name)
{
    struct gw_program *program = listing->program;
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0) {
        int rc = gw_error_set(listing->error, GW_EIO, "cannot ship %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return rc;
    }
    struct gw_manifest_file *file = &program->files[program->count];
    int rc = gw_hashes_of(fd, file->hash, listing->error);
    close(fd);
    if (rc < 0)
        return gw_error_prefix(listing->error, "cannot ship %s", path);
    file->name = strdup(name);
    program->paths[program->count] = strdup(path);
    if (!file->name || !program->paths[program->count])
        rc = gw_error_set(listing->error, GW_ENOMEM, "out of memory");
    file->bytes = (uint64_t)info.st_size;
    file->mode = info.st_mode & 0777;
    program->count++;
    return rc;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Adds a loaded library. dlpi_name is a path, or empty for the executable, or a name without a
 * slash for the kernel's vdso. The last part of the path is the name by which other libraries refer
 * to it. */
static int add_library(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct listing *listing = arg;
    if (!strchr(info->dlpi_name, '/') || gw_program_is_system(info->dlpi_name))
        return 0;
    if (listing->program->count == GW_MANIFEST_FILES_MAX)
        listing->rc =
            gw_error_set(listing->error, GW_ELIMIT,
                         "this program uses more than %d shared libraries outside the system "
                         "folders, which is the most that can be sent: link some statically",
                         GW_MANIFEST_FILES_MAX);
    else
        listing->rc = add_file(listing, info->dlpi_name, base_name(info->dlpi_name));
    return listing->rc;
}

static const char *executable_name(char target[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", target, PATH_MAX - 1);
    target[length > 0 ? length : 0] = '\0';
    char *deleted = strstr(target, " (deleted)");
    if (deleted)
        *deleted = '\0';
    const char *name = base_name(target);
    return *name == '\0' || *name == '.' ? "program" : name;
}

int gw_program_new(struct gw_program **out, struct gw_error *error)
{
    struct gw_program *program = calloc(1, sizeof *program);
    if (!program)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    struct listing listing = {program, error, 0};
    program->files = calloc(GW_MANIFEST_FILES_MAX, sizeof *program->files);
    program->paths = calloc(GW_MANIFEST_FILES_MAX, sizeof *program->paths);
    if (!program->files || !program->paths) {
        listing.rc = gw_error_set(error, GW_ENOMEM, "out of memory");
        goto fail;
    }
    /* Open /proc/self/exe and not its target: this opens the running file even if another file has
     * replaced it at its path. */
    char target[PATH_MAX];
    listing.rc = add_file(&listing, "/proc/self/exe", executable_name(target));
    if (listing.rc == 0)
        dl_iterate_phdr(add_library, &listing);
    if (listing.rc < 0)
        goto fail;

    struct gw_manifest manifest = {program->files, program->count};
    listing.rc = gw_manifest_encode(&manifest, &program->manifest);
    if (listing.rc < 0) {
        gw_error_set(error, listing.rc, "out of memory");
        goto fail;
    }
    gw_hash_bytes(program->manifest.data, program->manifest.size, program->hash);
    *out = program;
    return 0;
fail:
    gw_program_free(program);
    return listing.rc;
}

void gw_program_free(struct gw_program *program)
{
    if (!program)
        return;
    for (uint32_t i = 0; i < program->count; i++) {
        free((void *)(uintptr_t)program->files[i].name);
        free(program->paths[i]);
    }
    free(program->files);
    free(program->paths);
    gw_buffer_deinit(&program->manifest);
    free(program);
}

int gw_program_open(const struct gw_program *program, const uint8_t hash[GW_HASH_BYTES], int *fd,
                    uint64_t *bytes)
{
    for (uint32_t i = 0; i < program->count; i++) {
        if (memcmp(program->files[i].hash, hash, GW_HASH_BYTES) != 0)
            continue;
        *fd = open(program->paths[i], O_RDONLY | O_CLOEXEC);
        *bytes = program->files[i].bytes;
        return *fd < 0 ? GW_EIO : 0;
    }
    return GW_ENOENT;
}
