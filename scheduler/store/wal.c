/* Checks the write-ahead log of SQLite. See wal.h. The format is described in the documentation of
 * SQLite, "The WAL File Format".
 *
 * The checksums of frames depend on all frames before, so they cannot be checked after the first
 * bad frame. A frame after it counts if it has the salts of this log. Old frames of an earlier log
 * at the same place have other salts. */
#include "scheduler/store/wal.h"

#include "graph/base/must.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 32,
    FRAME_HEADER_BYTES = 24,
    PAGE_BYTES_MIN = 512,
    PAGE_BYTES_MAX = 65536,
    COMMITS_UNDER_WAY = 1, /* commits that may be incomplete after a crash */
};
#define MAGIC UINT32_C(0x377f0682) /* the lowest bit selects checksums of big-endian words */

struct wal {
    int fd;
    uint8_t *frame; /* buffer: FRAME_HEADER_BYTES and a page */
    uint32_t page_bytes, salts[2], sums[2];
    bool big_endian;
};

static uint32_t be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t le32(const uint8_t *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static void add_up(const struct wal *wal, const uint8_t *data, size_t bytes, uint32_t sums[2])
{
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        sums[0] += (wal->big_endian ? be32(data + i) : le32(data + i)) + sums[1];
        sums[1] += (wal->big_endian ? be32(data + i + 4) : le32(data + i + 4)) + sums[0];
    }
}

/* Returns true if the header is intact, and reads its fields. Otherwise sets the values that
 * Gangway's own logs use. */
static bool read_header(struct wal *wal)
{
    uint8_t header[HEADER_BYTES];
    uint32_t sums[2] = {0, 0};
    wal->page_bytes = 4096;
    if (pread(wal->fd, header, sizeof header, 0) != (ssize_t)sizeof header)
        return false;
    wal->big_endian = be32(header) & 1;
    add_up(wal, header, 24, sums);
    if ((be32(header) & ~UINT32_C(1)) != MAGIC || sums[0] != be32(header + 24) ||
        sums[1] != be32(header + 28) || be32(header + 8) < PAGE_BYTES_MIN ||
        be32(header + 8) > PAGE_BYTES_MAX)
        return false;
    wal->page_bytes = be32(header + 8);
    wal->salts[0] = be32(header + 16);
    wal->salts[1] = be32(header + 20);
    wal->sums[0] = sums[0];
    wal->sums[1] = sums[1];
    return true;
}

static bool read_frame(struct wal *wal, uint64_t number)
{
    const size_t bytes = FRAME_HEADER_BYTES + wal->page_bytes;
    const off_t at = (off_t)(HEADER_BYTES + (number - 1) * bytes);
    return pread(wal->fd, wal->frame, bytes, at) == (ssize_t)bytes;
}

static bool has_salts(const struct wal *wal)
{
    return be32(wal->frame + 8) == wal->salts[0] && be32(wal->frame + 12) == wal->salts[1];
}

/* Checks the checksums of the frames. Returns the number of the first bad frame, or 0. */
static uint64_t first_bad(struct wal *wal)
{
    for (uint64_t number = 1; read_frame(wal, number); number++) {
        add_up(wal, wal->frame, 8, wal->sums);
        add_up(wal, wal->frame + FRAME_HEADER_BYTES, wal->page_bytes, wal->sums);
        if (!has_salts(wal) || wal->sums[0] != be32(wal->frame + 16) ||
            wal->sums[1] != be32(wal->frame + 20))
            return number;
    }
    return 0;
}

/* Counts the frames of this log that end a commit, from frame `number` on. */
static uint32_t count_commits(struct wal *wal, uint64_t number)
{
    uint32_t commits = 0;
    for (; read_frame(wal, number); number++)
        commits += has_salts(wal) && be32(wal->frame + 4) != 0;
    return commits;
}

int gw_wal_check(const char *path, struct gw_wal_damage *damage, struct gw_error *error)
{
    struct wal wal = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    struct stat info;
    *damage = (struct gw_wal_damage){0};
    if (wal.fd < 0 && errno == ENOENT)
        return 0;
    if (wal.fd < 0 || fstat(wal.fd, &info) < 0) {
        int rc = gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
        if (wal.fd >= 0)
            close(wal.fd);
        return rc;
    }
    wal.frame = malloc(FRAME_HEADER_BYTES + PAGE_BYTES_MAX);
    GW_MUST_PTR(wal.frame);
    if (read_header(&wal)) {
        damage->frame = first_bad(&wal);
        damage->commits = damage->frame ? count_commits(&wal, damage->frame) : 0;
    } else if (info.st_size >= HEADER_BYTES && read_frame(&wal, 1)) {
        wal.salts[0] = be32(wal.frame + 8);
        wal.salts[1] = be32(wal.frame + 12);
        damage->commits = count_commits(&wal, 1);
    }
    free(wal.frame);
    close(wal.fd);
    return damage->commits > COMMITS_UNDER_WAY;
}
