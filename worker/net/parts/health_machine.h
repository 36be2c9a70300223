/* The built-in health checks. Each writes why it fails, or "", and may block. */
#ifndef GW_NET_HEALTH_MACHINE_H
#define GW_NET_HEALTH_MACHINE_H

#include <gangway/error.h>

/* gw_health_disk fails if a file cannot be written to a folder, or if the disk of the folder has
 * less than 64 MiB, or 1% of its size, left. */
void gw_health_disk(const char *folder, char why[static GW_ERROR_TEXT_MAX]);

/* gw_health_memory fails if the kernel itself holds more than half of the memory, which no end of a
 * task frees, or if for half of the last minute no process could go on because of memory. The texts
 * are those of /proc/meminfo and of /proc/pressure/memory ("": unknown). */
void gw_health_memory(const char *meminfo, const char *pressure,
                      char why[static GW_ERROR_TEXT_MAX]);

#endif
