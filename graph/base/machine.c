/* Reads what resources the system allows a process to use: /proc, cgroups of both versions, limits.
 */
#include "graph/base/machine.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* -- Memory --------------------------------------------------------------------------------------
 */

static uint64_t limit_in(const char *folder, const char *name)
{
    char path[PATH_MAX];
    unsigned long long bytes;
    FILE *file = NULL;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path)
        file = fopen(path, "re");
    if (!file || fscanf(file, "%llu", &bytes) != 1)
        bytes = UINT64_MAX; /* the file says "max" or does not exist */
    if (file)
        (void)fclose(file);
    return bytes;
}

/* Returns the lowest limit of a cgroup and its parents. */
static uint64_t limit_of(const char *root, const char *group, const char *name)
{
    char folder[PATH_MAX];
    uint64_t least = UINT64_MAX;
    if (snprintf(folder, sizeof folder, "%s%s", root, group) >= (int)sizeof folder)
        return least;
    for (;;) {
        uint64_t limit = limit_in(folder, name);
        least = limit < least ? limit : least;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < strlen(root))
            return least;
        *slash = '\0';
    }
}

uint64_t gw_machine_memory_bytes(void)
{
    char line[PATH_MAX];
    long pages = sysconf(_SC_PHYS_PAGES);
    uint64_t least = pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file)) {
        uint64_t limit = UINT64_MAX;
        line[strcspn(line, "\n")] = '\0';
        char *memory = strstr(line, ":memory:");
        if (strncmp(line, "0::", 3) == 0)
            limit = limit_of("/sys/fs/cgroup", line + 3, "memory.max");
        else if (memory)
            limit = limit_of("/sys/fs/cgroup/memory", memory + 8, "memory.limit_in_bytes");
        least = limit < least ? limit : least;
    }
    if (file)
        (void)fclose(file);
    return least == UINT64_MAX ? 0 : least;
}

/* -- Descriptors ---------------------------------------------------------------------------------
 */

void gw_machine_raise_descriptors(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

uint32_t gw_machine_descriptors_for_values(void)
{
    enum { RESERVE = 128, LEAST = 16 };
    long files = sysconf(_SC_OPEN_MAX);
    if (files < 0 || files > INT32_MAX)
        return INT32_MAX;
    return files < 2 * RESERVE + LEAST ? LEAST : (uint32_t)(files - RESERVE) / 2;
}
