/* The checks of the disk, the memory and the clock. */
#include "worker/net/parts/health_machine.h"

#include "graph/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { PROBE_BYTES = 4096, STALLED_PERCENT = 50 };

#define FREE_BYTES_MIN (UINT64_C(64) << 20)

/* Writes a small file to the disk, and removes it. Returns false with errno if that fails. */
static bool can_write(const char *folder)
{
    static const char zeros[PROBE_BYTES];
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/health-%d", folder, (int)getpid()) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    const ssize_t bytes = write(fd, zeros, sizeof zeros);
    bool written = bytes == sizeof zeros && fsync(fd) == 0;
    const int code = bytes >= 0 && bytes < PROBE_BYTES ? ENOSPC : errno;
    close(fd);
    (void)unlink(path);
    errno = code;
    return written;
}

void gw_health_disk(const char *folder, char why[static GW_ERROR_TEXT_MAX])
{
    struct statvfs disk;
    *why = '\0';
    if (!can_write(folder)) {
        (void)snprintf(why, GW_ERROR_TEXT_MAX, "cannot write to %.200s: %s", folder,
                       strerror(errno));
        return;
    }
    if (statvfs(folder, &disk) < 0) {
        (void)snprintf(why, GW_ERROR_TEXT_MAX, "cannot read how full the disk of %.200s is: %s",
                       folder, strerror(errno));
        return;
    }
    gw_health_space(folder, (uint64_t)disk.f_blocks * disk.f_frsize,
                    (uint64_t)disk.f_bavail * disk.f_frsize, why);
}

void gw_health_space(const char *folder, uint64_t all_bytes, uint64_t free_bytes,
                     char why[static GW_ERROR_TEXT_MAX])
{
    const uint64_t least = all_bytes / 100 < FREE_BYTES_MIN ? all_bytes / 100 : FREE_BYTES_MIN;
    char has[GW_TEXT_BYTES_ROOM], wants[GW_TEXT_BYTES_ROOM];
    *why = '\0';
    gw_text_bytes_two(free_bytes, least, has, wants);
    if (free_bytes < least)
        (void)snprintf(why, GW_ERROR_TEXT_MAX,
                       "the disk of %.200s is full: %s are free, and at least %s must be", folder,
                       has, wants);
}

/* Returns the number after a name in a text, or 0. */
static double number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtod(at + strlen(name), NULL) : 0;
}

void gw_health_memory(const char *meminfo, const char *pressure, char why[static GW_ERROR_TEXT_MAX])
{
    const double all = number_after(meminfo, "MemTotal:"),
                 held = number_after(meminfo, "SUnreclaim:");
    const char *full = strstr(pressure, "full ");
    const double stalled = full ? number_after(full, "avg60=") : 0;
    *why = '\0';
    if (held > all / 2)
        (void)snprintf(why, GW_ERROR_TEXT_MAX,
                       "the kernel holds %.0f%% of the memory (SUnreclaim in /proc/meminfo)",
                       100 * held / all);
    else if (stalled >= STALLED_PERCENT)
        (void)snprintf(why, GW_ERROR_TEXT_MAX,
                       "for %.0f%% of the last minute, no process could go on because of memory "
                       "(/proc/pressure/memory)",
                       stalled);
}

void gw_health_clock(int64_t offset_ns, char why[static GW_ERROR_TEXT_MAX])
{
    const double offset_s = (double)offset_ns / 1e9;
    *why = '\0';
    if (offset_ns > GW_HEALTH_CLOCK_NS || offset_ns < -GW_HEALTH_CLOCK_NS)
        (void)snprintf(why, GW_ERROR_TEXT_MAX,
                       "its clock is %.1f s %s the scheduler's, and at most %d s are allowed: set "
                       "both, for example by NTP",
                       offset_s < 0 ? -offset_s : offset_s, offset_s < 0 ? "behind" : "ahead of",
                       (int)(GW_HEALTH_CLOCK_NS / 1000000000));
}
