/* Merges folders.
 *
 * Invariants: all files that several hosts have written are compared before anything is changed. A
 * file counts as written since a mark if its inode has changed since (ctime). The mtime is not
 * enough, since transferred files keep it. */
#include "worker/store/union.h"

#include "graph/base/dir.h"
#include "graph/base/must.h"
#include "worker/store/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 2 * PATH_MAX, BLOCK = 64 << 10 };

/* File systems update their clock in ticks of up to 10 ms. */
static const struct timespec tick = {.tv_nsec = 20 * 1000 * 1000};

void gw_union_add(struct gw_union_part *part, const char *path)
{
    if (part->count == part->room) {
        part->room = part->room ? 2 * part->room : 16;
        part->written = realloc(part->written, part->room * sizeof *part->written);
        GW_MUST_PTR(part->written);
    }
    part->written[part->count] = strdup(path);
    GW_MUST_PTR(part->written[part->count++]);
}

void gw_union_deinit(struct gw_union_part *part)
{
    for (size_t i = 0; i < part->count; i++)
        free(part->written[i]);
    free(part->written);
    *part = (struct gw_union_part){0};
}

int gw_union_list(struct gw_union_part *part, uint64_t mark_ns, struct gw_error *error)
{
    struct gw_pack *pack;
    int rc = gw_pack_open(part->folder, NULL, &pack, error);
    if (rc < 0)
        return rc;
    gw_pack_since(pack, mark_ns, true);
    const char *path;
    for (size_t at = 0; (path = gw_pack_written(pack, &at));)
        gw_union_add(part, path);
    gw_pack_close(pack);
    return 0;
}

/* -- Comparison ----------------------------------------------------------------------------------
 */

static int cannot(const char *path, struct gw_error *error)
{
    return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
}

static void join_path(char path[static PATH_BYTES], const char *folder, const char *name)
{
    (void)snprintf(path, PATH_BYTES, "%s/%s", folder, name);
}

static bool is_same_link(const char *one, const char *other)
{
    char targets[2][PATH_MAX];
    ssize_t length = readlink(one, targets[0], sizeof targets[0]);
    return length >= 0 && readlink(other, targets[1], sizeof targets[1]) == length &&
           memcmp(targets[0], targets[1], (size_t)length) == 0;
}

/* Returns 1 for the same content, 0 for different content, or a negative code. */
static int compare_content(const char *one, const char *other, struct gw_error *error)
{
    char *blocks = malloc((size_t)2 * BLOCK);
    FILE *files[2] = {fopen(one, "re"), fopen(other, "re")};
    int same = 1;
    GW_MUST_PTR(blocks);
    if (!files[0] || !files[1])
        same = cannot(files[0] ? other : one, error);
    for (size_t got = 1; same == 1 && got > 0;) {
        got = fread(blocks, 1, BLOCK, files[0]);
        same = fread(blocks + BLOCK, 1, BLOCK, files[1]) == got &&
               memcmp(blocks, blocks + BLOCK, got) == 0;
        if (ferror(files[0]) || ferror(files[1]))
            same = cannot(ferror(files[0]) ? one : other, error);
    }
    for (int i = 0; i < 2; i++)
        if (files[i])
            (void)fclose(files[i]);
    free(blocks);
    return same;
}

static int compare(const char *one, const char *other, struct gw_error *error)
{
    struct stat infos[2];
    if (lstat(one, &infos[0]) < 0)
        return cannot(one, error);
    if (lstat(other, &infos[1]) < 0)
        return cannot(other, error);
    if ((infos[0].st_mode & S_IFMT) != (infos[1].st_mode & S_IFMT))
        return 0;
    if (S_ISLNK(infos[0].st_mode))
        return is_same_link(one, other);
    return infos[0].st_size == infos[1].st_size ? compare_content(one, other, error) : 0;
}

static int by_name(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Compares all files that both parts have written. */
static int compare_parts(const struct gw_union_part *one, const struct gw_union_part *other,
                         struct gw_error *error)
{
    char paths[2][PATH_BYTES];
    for (size_t i = 0; i < other->count; i++) {
        if (!one->count ||
            !bsearch(&other->written[i], one->written, one->count, sizeof *one->written, by_name))
            continue;
        join_path(paths[0], one->folder, other->written[i]);
        join_path(paths[1], other->folder, other->written[i]);
        int same = compare(paths[0], paths[1], error);
        if (same < 0)
            return same;
        if (same == 0)
            return gw_error_set(error, GW_EMISMATCH,
                                "ranks on %.100s and on %.100s have each written a file \"%.200s\" "
                                "into the folder of checkpoints, with different content: use a "
                                "different name for each rank ($RANK)",
                                one->host, other->host, other->written[i]);
    }
    return 0;
}

/* -- Merging -------------------------------------------------------------------------------------
 */

static int make_parents(const char *folder, const char *name, struct gw_error *error)
{
    char path[PATH_BYTES];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(path, sizeof path, "%s/%.*s", folder, (int)(slash - name), name);
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return cannot(path, error);
    }
    return 0;
}

/* Adds a file to the folder by a hard link. The source also stays, so that nothing is lost if the
 * worker dies meanwhile. */
static int put(const struct gw_union_part *part, const char *name, const char *into,
               struct gw_error *error)
{
    char from[PATH_BYTES], to[PATH_BYTES], fresh[PATH_BYTES];
    join_path(from, part->folder, name);
    join_path(to, into, name);
    int rc = make_parents(into, name, error);
    if (rc < 0)
        return rc;
    (void)snprintf(fresh, sizeof fresh, "%.*s.gangway-joins", PATH_MAX, to);
    (void)unlink(fresh);
    if (linkat(AT_FDCWD, from, AT_FDCWD, fresh, 0) == 0)
        return rename(fresh, to) == 0 && (unlink(fresh) == 0 || errno == ENOENT)
                   ? 0
                   : cannot(to, error);
    return rename(from, to) == 0 ? 0 : cannot(to, error); /* the file system has no hard links */
}

int gw_union_join(struct gw_union_part *parts, size_t count, struct gw_error *error)
{
    int rc = 0;
    if (mkdir(parts[0].folder, 0700) < 0 && errno != EEXIST)
        return cannot(parts[0].folder, error);
    for (size_t i = 0; i < count; i++)
        if (parts[i].count)
            qsort(parts[i].written, parts[i].count, sizeof *parts[i].written, by_name);
    for (size_t i = 1; rc == 0 && i < count; i++)
        for (size_t k = 0; rc == 0 && k < i; k++)
            rc = compare_parts(&parts[k], &parts[i], error);
    for (size_t i = 1; rc == 0 && i < count; i++)
        for (size_t k = 0; rc == 0 && k < parts[i].count; k++)
            rc = put(&parts[i], parts[i].written[k], parts[0].folder, error);
    return rc;
}

/* -- The mark ------------------------------------------------------------------------------------
 */

static void mark_path(const char *folder, char path[static PATH_BYTES])
{
    const char *name = strrchr(folder, '/') + 1;
    (void)snprintf(path, PATH_BYTES, "%.*s.%s.known", (int)(name - folder), folder, name);
}

int gw_union_set_mark(const char *folder, struct gw_error *error)
{
    char path[PATH_BYTES];
    mark_path(folder, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int rc = fd < 0 || futimens(fd, NULL) < 0 ? cannot(path, error) : 0;
    if (fd >= 0)
        close(fd);
    (void)nanosleep(&tick, NULL);
    return rc;
}

uint64_t gw_union_mark(const char *folder)
{
    char path[PATH_BYTES];
    struct stat info;
    mark_path(folder, path);
    if (lstat(path, &info) < 0)
        return 0;
    return (uint64_t)info.st_ctim.tv_sec * UINT64_C(1000000000) + (uint64_t)info.st_ctim.tv_nsec;
}
