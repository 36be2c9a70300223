/* See watermark.h. Each slot is written in one call and is in a disk sector of its own. */
#include "scheduler/store/watermark.h"

#include "graph/wire/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 2, SLOT_BYTES = 4096, HASHED_BYTES = 16 };

struct slot {
    char magic[8];
    uint64_t commits;
    uint8_t hash[GW_HASH_BYTES]; /* of the fields before it */
};

static const char magic[8] = {'G', 'W', 'M', 'A', 'R', 'K', '0', '1'};

bool gw_watermark_read(const char *dir, uint64_t *commits)
{
    char path[PATH_MAX + 16];
    bool found = false;
    (void)snprintf(path, sizeof path, "%s/" GW_WATERMARK_NAME, dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (int i = 0; i < SLOTS; i++) {
        struct slot slot;
        uint8_t hash[GW_HASH_BYTES];
        if (pread(fd, &slot, sizeof slot, (off_t)i * SLOT_BYTES) != (ssize_t)sizeof slot)
            continue;
        gw_hash_bytes(&slot, HASHED_BYTES, hash);
        if (memcmp(slot.magic, magic, sizeof magic) != 0 ||
            memcmp(slot.hash, hash, sizeof hash) != 0 || (found && slot.commits < *commits))
            continue;
        *commits = slot.commits;
        found = true;
    }
    close(fd);
    return found;
}

int gw_watermark_open(struct gw_watermark *mark, const char *dir, struct gw_error *error)
{
    char path[PATH_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/" GW_WATERMARK_NAME, dir);
    mark->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return mark->fd < 0 ? gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno)) : 0;
}

void gw_watermark_close(struct gw_watermark *mark)
{
    if (mark->fd >= 0)
        close(mark->fd);
    mark->fd = -1;
}

void gw_watermark_raise(struct gw_watermark *mark, uint64_t commits)
{
    struct slot slot;
    memcpy(slot.magic, magic, sizeof magic);
    slot.commits = commits;
    gw_hash_bytes(&slot, HASHED_BYTES, slot.hash);
    if (pwrite(mark->fd, &slot, sizeof slot, (off_t)(commits % SLOTS) * SLOT_BYTES) ==
        (ssize_t)sizeof slot)
        mark->commits = commits;
}

void gw_watermark_sync(const struct gw_watermark *mark)
{
    if (mark->fd >= 0)
        (void)fdatasync(mark->fd);
}
