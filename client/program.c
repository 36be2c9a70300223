/* What to ship, and the cache of hashes. The cache is a file of lines
 * "device inode size changed_ns sha256", appended to; a line that cannot be read is passed over,
 * and a file that grew too long is begun anew. It is an optimisation and nothing more: the cluster
 * verifies content against its hash. */
#include "client/program.h"

#include "graph/base/dir.h"

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

enum { CACHE_BYTES_MAX = 256 << 10 };

/* Of Debian, Ubuntu, Fedora, SUSE and Arch. */
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

/* -- The cache of hashes ------------------------------------------------------------------------
 */

static bool cache_path(char path[PATH_MAX])
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char dir[PATH_MAX - 16];
    int length = xdg && xdg[0] == '/' ? snprintf(dir, sizeof dir, "%s/gangway", xdg)
                 : home               ? snprintf(dir, sizeof dir, "%s/.cache/gangway", home)
                                      : -1;
    if (length < 0 || length >= (int)sizeof dir || gw_dir_make(dir, NULL) < 0)
        return false;
    snprintf(path, PATH_MAX, "%s/hashes", dir);
    return true;
}

static void cache_key(const struct stat *info, char key[128])
{
    snprintf(key, 128, "%llx %llx %llx %lld%09ld ", (unsigned long long)info->st_dev,
             (unsigned long long)info->st_ino, (unsigned long long)info->st_size,
             (long long)info->st_ctim.tv_sec, info->st_ctim.tv_nsec);
}

static bool parse_hash(const char *text, uint8_t hash[GW_HASH_BYTES])
{
    for (int i = 0; i < GW_HASH_BYTES; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        hash[i] = (uint8_t)byte;
    }
    return text[2 * GW_HASH_BYTES] == '\n';
}

static bool cache_find(const char *path, const char *key, uint8_t hash[GW_HASH_BYTES])
{
    FILE *file = fopen(path, "re");
    char line[256];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, key, strlen(key)) == 0 && parse_hash(line + strlen(key), hash);
    if (file)
        fclose(file);
    return found;
}

static void cache_add(const char *path, const char *key, const uint8_t hash[GW_HASH_BYTES])
{
    char text[GW_HASH_TEXT_BYTES], line[256];
    struct stat info;
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    if (stat(path, &info) == 0 && info.st_size > CACHE_BYTES_MAX)
        flags |= O_TRUNC;
    int fd = open(path, flags, 0600);
    if (fd < 0)
        return;
    gw_hash_format(hash, text);
    int length = snprintf(line, sizeof line, "%s%s\n", key, text);
    ssize_t written = write(fd, line, (size_t)length);
    (void)written; /* best effort */
    close(fd);
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
    char cache[PATH_MAX], key[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0) {
        int rc = gw_error_set(listing->error, GW_EIO, "cannot ship %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return rc;
    }
    struct gw_manifest_file *file = &program->files[program->count];
    cache_key(&info, key);
    bool cached = cache_path(cache);
    int rc = 0;
    if (!cached || !cache_find(cache, key, file->hash)) {
        rc = gw_hash_file(fd, file->hash, listing->error);
        if (rc == 0 && cached)
            cache_add(cache, key, file->hash);
    }
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

/* The name of a loaded object is a path, or empty for the executable, or without a slash for the
 * kernel's vdso. Its last part is the name by which others need it. */
static int add_library(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct listing *listing = arg;
    if (!strchr(info->dlpi_name, '/') || gw_program_is_system(info->dlpi_name))
        return 0;
    if (listing->program->count == GW_MANIFEST_FILES_MAX)
        listing->rc = gw_error_set(listing->error, GW_ELIMIT,
                                   "this program has more than %d libraries of its own",
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
    /* Opened by the link and not by its target: it is the file that runs, also when another one
     * lies at its path by now. */
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
