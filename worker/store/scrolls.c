/* Reads log segments.
 *
 * Records are only appended, so what was found once stays valid. A file is read from where the last
 * read ended. An incomplete record, or data that is not a record, ends the read. The map has an
 * entry per attempt: the number of its file, and the offset of its record. */
#include "worker/store/scrolls.h"

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/base/must.h"
#include "graph/base/strmap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, OFFSET_BITS = 44 };

struct scroll {
    char *name;
    uint64_t read_bytes; /* length of all complete records read so far */
};

struct gw_scrolls {
    char folder[PATH_MAX]; /* the job's folder that is cached; empty: none */
    GW_ARRAY(struct scroll) files;
    struct gw_strmap places; /* name of a file -> its number */
    struct gw_map attempts, latest;
    uint8_t buffer[READ_BYTES];
};

struct gw_scrolls *gw_scrolls_new(void)
{
    struct gw_scrolls *scrolls = calloc(1, sizeof *scrolls);
    GW_MUST_PTR(scrolls);
    return scrolls;
}

void gw_scrolls_forget(struct gw_scrolls *scrolls)
{
    struct scroll *file;
    GW_ARRAY_EACH (&scrolls->files, file)
        free(file->name);
    gw_array_deinit(&scrolls->files);
    gw_strmap_deinit(&scrolls->places);
    gw_map_deinit(&scrolls->attempts);
    gw_map_deinit(&scrolls->latest);
    scrolls->folder[0] = '\0';
}

void gw_scrolls_free(struct gw_scrolls *scrolls)
{
    if (scrolls)
        gw_scrolls_forget(scrolls);
    free(scrolls);
}

static int open_regular(const char *path, uint64_t *bytes)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        *bytes = (uint64_t)info.st_size;
    return fd;
}

static void note(struct gw_scrolls *scrolls, const struct gw_scroll_record *record, uint64_t file,
                 uint64_t at)
{
    uint64_t latest = 0;
    GW_MUST(gw_map_put(&scrolls->attempts, record->attempt, file << OFFSET_BITS | at));
    (void)gw_map_get(&scrolls->latest, record->index, &latest);
    if (record->attempt > latest)
        GW_MUST(gw_map_put(&scrolls->latest, record->index, record->attempt));
}

static uint64_t whole(const struct gw_scroll_record *record)
{
    if (record->magic != GW_SCROLL_MAGIC || record->bytes[0] > GW_SCROLL_BYTES_MAX ||
        record->bytes[1] > GW_SCROLL_BYTES_MAX)
        return 0;
    return sizeof *record + record->bytes[0] + record->bytes[1];
}

/* Reads the records that were added to a file since the last read. */
static void read_on(struct gw_scrolls *scrolls, uint64_t place)
{
    struct scroll *file = &scrolls->files.items[place];
    char path[2 * PATH_MAX];
    uint64_t end = 0, from = 0, have = 0; /* range of the file that is in the buffer */
    (void)snprintf(path, sizeof path, "%s/%s", scrolls->folder, file->name);
    int fd = open_regular(path, &end);
    while (fd >= 0 && file->read_bytes + sizeof(struct gw_scroll_record) <= end) {
        struct gw_scroll_record record;
        uint64_t at = file->read_bytes;
        if (at < from || at + sizeof record > from + have) {
            ssize_t got = pread(fd, scrolls->buffer, sizeof scrolls->buffer, (off_t)at);
            from = at;
            have = got > 0 ? (uint64_t)got : 0;
            if (have < sizeof record)
                break;
        }
        memcpy(&record, scrolls->buffer + (at - from), sizeof record);
        const uint64_t bytes = whole(&record);
        if (!bytes || at + bytes > end)
            break;
        note(scrolls, &record, place, at);
        file->read_bytes += bytes;
    }
    if (fd >= 0)
        close(fd);
}

static uint64_t place_of(struct gw_scrolls *scrolls, const char *name)
{
    uint64_t place = scrolls->files.count;
    if (gw_strmap_get(&scrolls->places, name, &place))
        return place;
    struct scroll file = {.name = strdup(name)};
    GW_MUST_PTR(file.name);
    GW_MUST(gw_array_push(&scrolls->files, file));
    GW_MUST(gw_strmap_put(&scrolls->places, name, place));
    return place;
}

static void look(struct gw_scrolls *scrolls, const char *folder)
{
    if (strcmp(scrolls->folder, folder) != 0) {
        gw_scrolls_forget(scrolls);
        if (strlen(folder) >= sizeof scrolls->folder)
            return;
        memcpy(scrolls->folder, folder, strlen(folder) + 1);
    }
    DIR *files = opendir(folder);
    for (const struct dirent *entry; files && (entry = readdir(files));)
        if (strncmp(entry->d_name, GW_SCROLL_PREFIX, strlen(GW_SCROLL_PREFIX)) == 0)
            read_on(scrolls, place_of(scrolls, entry->d_name));
    if (files)
        closedir(files);
}

bool gw_scrolls_find(struct gw_scrolls *scrolls, const char *folder, uint64_t attempt,
                     uint32_t stream, struct gw_scrolls_part *part)
{
    struct gw_scroll_record record;
    uint64_t item, end;
    bool known = strcmp(scrolls->folder, folder) == 0;
    if (!known || !gw_map_get(&scrolls->attempts, attempt, &item)) {
        look(scrolls, folder);
        if (!gw_map_get(&scrolls->attempts, attempt, &item))
            return false;
    }
    const uint64_t at = item & ((UINT64_C(1) << OFFSET_BITS) - 1);
    const int n = snprintf(part->path, sizeof part->path, "%s/%s", folder,
                           scrolls->files.items[item >> OFFSET_BITS].name);
    int fd = n < (int)sizeof part->path ? open_regular(part->path, &end) : -1;
    bool well = fd >= 0 && pread(fd, &record, sizeof record, (off_t)at) == sizeof record &&
                whole(&record) && record.attempt == attempt;
    if (fd >= 0)
        close(fd);
    if (!well) { /* the file is gone or was replaced, so drop the whole index */
        gw_scrolls_forget(scrolls);
        return false;
    }
    part->begin = at + sizeof record + (stream == 2 ? record.bytes[0] : 0);
    part->bytes = record.bytes[stream == 2];
    return true;
}

uint64_t gw_scrolls_latest(struct gw_scrolls *scrolls, const char *folder, uint32_t index)
{
    uint64_t attempt = 0;
    look(scrolls, folder);
    (void)gw_map_get(&scrolls->latest, index, &attempt);
    return attempt;
}

bool gw_scrolls_mark(const char *path, struct gw_scroll_mark *mark)
{
    uint64_t bytes;
    int fd = open_regular(path, &bytes);
    bool there = fd >= 0 && pread(fd, mark, sizeof *mark, 0) == (ssize_t)sizeof *mark;
    if (fd >= 0)
        close(fd);
    return there;
}
