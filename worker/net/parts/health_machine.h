/* The built-in health checks. Each writes why it fails, or "", and may block. */
#ifndef GW_NET_HEALTH_MACHINE_H
#define GW_NET_HEALTH_MACHINE_H

#include <gangway/error.h>
#include <stdint.h>

/* gw_health_disk fails if a file cannot be written to a folder, or if the disk of the folder has
 * less than 64 MiB, or 1% of its size, left. */
void gw_health_disk(const char *folder, char why[static GW_ERROR_TEXT_MAX]);

/* gw_health_space fails if a disk of these many bytes has less than that free. */
void gw_health_space(const char *folder, uint64_t all_bytes, uint64_t free_bytes,
                     char why[static GW_ERROR_TEXT_MAX]);

/* gw_health_memory fails if the kernel itself holds more than half of the memory, which no end of a
 * task frees, or if for half of the last minute no process could go on because of memory. The texts
 * are those of /proc/meminfo and of /proc/pressure/memory ("": unknown). */
void gw_health_memory(const char *meminfo, const char *pressure,
                      char why[static GW_ERROR_TEXT_MAX]);

/* gw_health_clock fails if this machine's clock is more than GW_HEALTH_CLOCK_NS ahead of the
 * scheduler's (offset_ns), or behind it (negative). */
#define GW_HEALTH_CLOCK_NS INT64_C(10000000000)
void gw_health_clock(int64_t offset_ns, char why[static GW_ERROR_TEXT_MAX]);

#endif
