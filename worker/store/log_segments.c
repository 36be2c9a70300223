/* Reads log segments.
 *
 * Records are only appended, so what was found once stays valid. A file is read from where the last
 * read ended. An incomplete record, or data that is not a record, ends the read. The map has an
 * entry per attempt: the number of its file, and the offset of its record. */
#include "worker/store/log_segments.h"

#include "graph/base/array.h"
#include "graph/base/files.h"
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

struct segment {
    char *name;
    uint64_t read_bytes; /* length of all complete records read so far */
};

struct gw_log_segments {
    char folder[PATH_MAX]; /* the job's folder that is cached; empty: none */
    GW_ARRAY(struct segment) files;
    struct gw_strmap places; /* name of a file -> its number */
    struct gw_map attempts, latest;
    uint8_t buffer[READ_BYTES];
};

struct gw_log_segments *gw_log_segments_new(void)
{
    struct gw_log_segments *segments = calloc(1, sizeof *segments);
    GW_MUST_PTR(segments);
    return segments;
}

void gw_log_segments_forget(struct gw_log_segments *segments)
{
    struct segment *file;
    GW_ARRAY_EACH (&segments->files, file)
        free(file->name);
    gw_array_deinit(&segments->files);
    gw_strmap_deinit(&segments->places);
    gw_map_deinit(&segments->attempts);
    gw_map_deinit(&segments->latest);
    segments->folder[0] = '\0';
}

void gw_log_segments_free(struct gw_log_segments *segments)
{
    if (segments)
        gw_log_segments_forget(segments);
    free(segments);
}

static int open_regular(const char *path, uint64_t *bytes)
{
    struct stat info;
    int fd = gw_files_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd >= 0 && (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        *bytes = (uint64_t)info.st_size;
    return fd;
}

static void note(struct gw_log_segments *segments, const struct gw_log_segment_record *record,
                 uint64_t file, uint64_t at)
{
    uint64_t latest = 0;
    GW_MUST(gw_map_put(&segments->attempts, record->attempt, file << OFFSET_BITS | at));
    (void)gw_map_get(&segments->latest, record->index, &latest);
    if (record->attempt > latest)
        GW_MUST(gw_map_put(&segments->latest, record->index, record->attempt));
}

static uint64_t whole(const struct gw_log_segment_record *record)
{
    if (record->magic != GW_LOG_SEGMENT_MAGIC || record->bytes[0] > GW_LOG_SEGMENT_BYTES_MAX ||
        record->bytes[1] > GW_LOG_SEGMENT_BYTES_MAX)
        return 0;
    return sizeof *record + record->bytes[0] + record->bytes[1];
}

/* Reads the records that were added to a file since the last read. */
static void read_on(struct gw_log_segments *segments, uint64_t place)
{
    struct segment *file = &segments->files.items[place];
    char path[2 * PATH_MAX];
    uint64_t end = 0, from = 0, have = 0; /* range of the file that is in the buffer */
    (void)snprintf(path, sizeof path, "%s/%s", segments->folder, file->name);
    int fd = open_regular(path, &end);
    while (fd >= 0 && file->read_bytes + sizeof(struct gw_log_segment_record) <= end) {
        struct gw_log_segment_record record;
        uint64_t at = file->read_bytes;
        if (at < from || at + sizeof record > from + have) {
            ssize_t got = pread(fd, segments->buffer, sizeof segments->buffer, (off_t)at);
            from = at;
            have = got > 0 ? (uint64_t)got : 0;
            if (have < sizeof record)
                break;
        }
        memcpy(&record, segments->buffer + (at - from), sizeof record);
        const uint64_t bytes = whole(&record);
        if (!bytes || at + bytes > end)
            break;
        note(segments, &record, place, at);
        file->read_bytes += bytes;
    }
    if (fd >= 0)
        close(fd);
}

static uint64_t place_of(struct gw_log_segments *segments, const char *name)
{
    uint64_t place = segments->files.count;
    if (gw_strmap_get(&segments->places, name, &place))
        return place;
    struct segment file = {.name = strdup(name)};
    GW_MUST_PTR(file.name);
    GW_MUST(gw_array_push(&segments->files, file));
    GW_MUST(gw_strmap_put(&segments->places, name, place));
    return place;
}

static void look(struct gw_log_segments *segments, const char *folder)
{
    if (strcmp(segments->folder, folder) != 0) {
        gw_log_segments_forget(segments);
        if (strlen(folder) >= sizeof segments->folder)
            return;
        memcpy(segments->folder, folder, strlen(folder) + 1);
    }
    DIR *files = gw_files_opendir(folder);
    for (const struct dirent *entry; files && (entry = readdir(files));)
        if (strncmp(entry->d_name, GW_LOG_SEGMENT_PREFIX, strlen(GW_LOG_SEGMENT_PREFIX)) == 0)
            read_on(segments, place_of(segments, entry->d_name));
    if (files)
        closedir(files);
}

bool gw_log_segments_find(struct gw_log_segments *segments, const char *folder, uint64_t attempt,
                          uint32_t stream, struct gw_log_segments_part *part)
{
    struct gw_log_segment_record record;
    uint64_t item, end;
    bool known = strcmp(segments->folder, folder) == 0;
    if (!known || !gw_map_get(&segments->attempts, attempt, &item)) {
        look(segments, folder);
        if (!gw_map_get(&segments->attempts, attempt, &item))
            return false;
    }
    const uint64_t at = item & ((UINT64_C(1) << OFFSET_BITS) - 1);
    const int n = snprintf(part->path, sizeof part->path, "%s/%s", folder,
                           segments->files.items[item >> OFFSET_BITS].name);
    int fd = n < (int)sizeof part->path ? open_regular(part->path, &end) : -1;
    bool well = fd >= 0 && pread(fd, &record, sizeof record, (off_t)at) == sizeof record &&
                whole(&record) && record.attempt == attempt;
    if (fd >= 0)
        close(fd);
    if (!well) { /* the file is gone or was replaced, so drop the whole index */
        gw_log_segments_forget(segments);
        return false;
    }
    part->begin = at + sizeof record + (stream == 2 ? record.bytes[0] : 0);
    part->bytes = record.bytes[stream == 2];
    return true;
}

uint64_t gw_log_segments_latest(struct gw_log_segments *segments, const char *folder,
                                uint32_t index)
{
    uint64_t attempt = 0;
    look(segments, folder);
    (void)gw_map_get(&segments->latest, index, &attempt);
    return attempt;
}

bool gw_log_segments_mark(const char *path, struct gw_log_segment_mark *mark)
{
    uint64_t bytes;
    int fd = open_regular(path, &bytes);
    bool there = fd >= 0 && pread(fd, mark, sizeof *mark, 0) == (ssize_t)sizeof *mark;
    if (fd >= 0)
        close(fd);
    return there;
}
