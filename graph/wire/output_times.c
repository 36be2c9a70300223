/* Writes and reads output times. */
#include "graph/wire/output_times.h"

#include "graph/base/clock.h"
#include "graph/base/files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY_BYTES = sizeof(struct gw_output_time), READ_ENTRIES = 256 };

#define SPACING_NS (100 * GW_NS_PER_MS)

static int open_times(const char *path, int flags)
{
    char of[PATH_MAX];
    const int n = snprintf(of, sizeof of, "%s" GW_OUTPUT_TIMES, path);
    return n < (int)sizeof of ? gw_files_open(of, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)
                              : -1;
}

static bool put(int fd, uint32_t at, const struct gw_output_time *entry)
{
    return pwrite(fd, entry, sizeof *entry, (off_t)at * ENTRY_BYTES) == sizeof *entry;
}

/* Drops every second entry. The last one stays. */
static void thin_out(struct gw_output_times *times, int fd)
{
    struct gw_output_time entry;
    uint32_t left = 0;
    for (uint32_t i = (times->count + 1) % 2; i < times->count; i += 2)
        if (pread(fd, &entry, sizeof entry, (off_t)i * ENTRY_BYTES) == sizeof entry &&
            put(fd, left, &entry)) {
            times->last[1] = times->last[0];
            times->last[0] = entry;
            left++;
        }
    (void)!ftruncate(fd, (off_t)left * ENTRY_BYTES);
    times->count = left;
    times->spacing_ns *= 2;
}

void gw_output_times_add(struct gw_output_times *times, const char *path, uint64_t bytes,
                         uint64_t at_ns)
{
    const struct gw_output_time entry = {bytes, at_ns};
    if (times->count > 0 && bytes == times->last[0].bytes)
        return;
    if (times->count == 0 || bytes < times->last[0].bytes)
        *times = (struct gw_output_times){.spacing_ns = SPACING_NS};
    const int fd = open_times(path, O_RDWR | O_CREAT | (times->count == 0 ? O_TRUNC : 0));
    if (fd < 0)
        return;
    /* An entry that is close to the one before it takes its place: then its bytes count as later.
     */
    const bool near = times->count > 1 && at_ns - times->last[1].at_ns < times->spacing_ns;
    if (!near && times->count == GW_OUTPUT_TIMES_MAX)
        thin_out(times, fd);
    const uint32_t at = near ? times->count - 1 : times->count;
    if (put(fd, at, &entry)) {
        times->last[1] = near ? times->last[1] : times->last[0];
        times->last[0] = entry;
        times->count = at + 1;
    }
    close(fd);
}

void gw_output_times_find(const char *path, uint64_t offset, uint64_t since_ns,
                          struct gw_output_times_found *found)
{
    struct gw_output_time entries[READ_ENTRIES];
    uint64_t before = 0; /* bytes of the last entry that counts: it has more than all before it */
    ssize_t got = 0;
    bool late = false;
    const int fd = open_times(path, O_RDONLY);
    *found = (struct gw_output_times_found){.known = fd >= 0, .end = UINT64_MAX};
    for (off_t at = 0; fd >= 0 && (got = pread(fd, entries, sizeof entries, at)) > 0; at += got)
        for (size_t i = 0; i < (size_t)got / ENTRY_BYTES; i++) {
            if (entries[i].bytes <= before)
                continue;
            if (!late && since_ns && entries[i].at_ns >= since_ns) {
                late = true;
                found->since = before;
            }
            before = entries[i].bytes;
            if (found->at_ns == 0 && before > offset) {
                found->at_ns = entries[i].at_ns;
                found->end = before;
            }
        }
    if (!late && since_ns)
        found->since = before;
    if (fd >= 0)
        close(fd);
}
