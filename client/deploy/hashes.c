/* The cache of file hashes: a file of lines "device inode size changed_ns sha256", to which lines
 * are appended. A malformed line is ignored. A file that is too long is emptied. A wrong hash does
 * no harm, because the cluster verifies every content against its hash. */
#include "client/deploy/hashes.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CACHE_BYTES_MAX = 256 << 10,
    SMALL_BYTES = 256 << 10, /* a smaller file is hashed faster than looked up */
};
#define SETTLED_NS (2 * GW_NS_PER_S)

/* Writes the path of the cache file, which need not exist. Returns false if there is no folder for
 * it. */
static bool cache_path(char path[PATH_MAX])
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = xdg && xdg[0] == '/' ? snprintf(path, PATH_MAX, "%s/gangway/hashes", xdg)
                 : home               ? snprintf(path, PATH_MAX, "%s/.cache/gangway/hashes", home)
                                      : -1;
    return length >= 0 && length < PATH_MAX;
}

static bool cache_dir_make(const char *path)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(path, '/') - path), path);
    return gw_dir_make(dir, NULL) == 0;
}

bool gw_hashes_lie_in(const struct stat *info)
{
    char path[PATH_MAX];
    struct stat cache;
    return cache_path(path) && stat(path, &cache) == 0 && cache.st_dev == info->st_dev &&
           cache.st_ino == info->st_ino;
}

static void cache_key(const struct stat *info, char key[128])
{
    snprintf(key, 128, "%llx %llx %llx %lld%09ld ", (unsigned long long)info->st_dev,
             (unsigned long long)info->st_ino, (unsigned long long)info->st_size,
             (long long)info->st_ctim.tv_sec, info->st_ctim.tv_nsec);
}

static bool parse(const char *text, uint8_t hash[GW_HASH_BYTES])
{
    return strlen(text) == GW_HASH_TEXT_BYTES && text[GW_HASH_TEXT_BYTES - 1] == '\n' &&
           gw_hash_parse(text, hash);
}

static bool cache_find(const char *path, const char *key, uint8_t hash[GW_HASH_BYTES])
{
    FILE *file = fopen(path, "re");
    char line[256];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, key, strlen(key)) == 0 && parse(line + strlen(key), hash);
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

/* Whether the last change of the file is old enough for the cache. Time stamps of file systems are
 * coarse: a file that has just changed may change again without a new time stamp. */
static bool is_settled(const struct stat *info)
{
    uint64_t changed_ns =
        (uint64_t)info->st_ctim.tv_sec * GW_NS_PER_S + (uint64_t)info->st_ctim.tv_nsec;
    uint64_t now_ns = gw_clock_wall_ns();
    return now_ns > changed_ns && now_ns - changed_ns > SETTLED_NS;
}

int gw_hashes_of(int fd, uint8_t hash[GW_HASH_BYTES], struct gw_error *error)
{
    struct stat before, after;
    char cache[PATH_MAX], key[128], again[128];
    if (fstat(fd, &before) < 0)
        return gw_error_set(error, GW_EIO, "%s", strerror(errno));
    cache_key(&before, key);
    bool cached = before.st_size > SMALL_BYTES && cache_path(cache) && cache_dir_make(cache);
    if (cached && cache_find(cache, key, hash))
        return 0;
    bool settled = is_settled(&before);
    int rc = gw_hash_file(fd, hash, error);
    if (rc < 0)
        return rc;
    if (fstat(fd, &after) < 0)
        return gw_error_set(error, GW_EIO, "%s", strerror(errno));
    cache_key(&after, again);
    if (strcmp(key, again) != 0)
        return gw_error_set(
            error, GW_EAGAIN,
            "the file changed while it was read: submit again when nothing writes to it");
    if (cached && settled)
        cache_add(cache, key, hash);
    return 0;
}
