/* The folder has the cgroups own (processes of the supervisor) and task-SUPERVISOR-PROCESS. A
 * cgroup with children of its own that has controllers may have no processes, so each process is in
 * a leaf.
 */
#include "worker/supervisor/cgroup.h"

#include "graph/base/cgroup_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIDS_MAX = 16384, CPU_PERIOD_US = 100000, END_MS_MAX = 100 };

static void remove_cgroup(const char *path)
{
    for (int i = 0; i < END_MS_MAX && rmdir(path) < 0 && errno == EBUSY; i++) {
        (void)gw_cgroup_file_put(path, "cgroup.kill", "1");
        (void)poll(NULL, 0, 1);
    }
}

/* Moves processes that are in the folder itself, for example the worker of a service, to `own`. */
static void move_own(const char *folder)
{
    char own[GW_CGROUP_PATH_BYTES], procs[GW_CGROUP_PATH_BYTES], pid[32];
    (void)snprintf(own, sizeof own, "%.*s/own", GW_CGROUP_PATH_BYTES - 16, folder);
    (void)snprintf(procs, sizeof procs, "%.*s/cgroup.procs", GW_CGROUP_PATH_BYTES - 16, folder);
    (void)mkdir(own, 0755);
    FILE *file = fopen(procs, "re");
    while (file && fgets(pid, sizeof pid, file))
        (void)gw_cgroup_file_put(own, "cgroup.procs", pid);
    if (file)
        (void)fclose(file);
}

void gw_cgroup_open(void)
{
    const char *folder = getenv("GANGWAY_CGROUP");
    if (!folder)
        return;
    move_own(folder);
    gw_cgroup_file_enable(folder);
    DIR *listing = opendir(folder);
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        char path[GW_CGROUP_PATH_BYTES];
        int supervisor;
        if (sscanf(entry->d_name, "task-%d-", &supervisor) != 1 || supervisor <= 0 ||
            kill(supervisor, 0) == 0 || errno != ESRCH)
            continue;
        (void)snprintf(path, sizeof path, "%.*s/%.64s", GW_CGROUP_PATH_BYTES - 80, folder,
                       entry->d_name);
        remove_cgroup(path);
    }
    if (listing)
        (void)closedir(listing);
}

static void path_of(const char *folder, pid_t supervisor, uint64_t process,
                    char path[GW_CGROUP_PATH_BYTES])
{
    (void)snprintf(path, GW_CGROUP_PATH_BYTES, "%.*s/task-%d-%" PRIu64, GW_CGROUP_PATH_BYTES - 64,
                   folder, (int)supervisor, process);
}

/* Sets the limits. Returns 0 or an errno. */
static int limit(const char *path, const struct gw_msg_spawn *spawn)
{
    char memory[32], cpu[64], pids[32];
    (void)snprintf(memory, sizeof memory, "%" PRIu64, spawn->memory_bytes);
    (void)snprintf(cpu, sizeof cpu, "%" PRIu64 " %d", (uint64_t)spawn->slots * CPU_PERIOD_US,
                   CPU_PERIOD_US);
    (void)snprintf(pids, sizeof pids, "%d", PIDS_MAX);
    const struct {
        const char *name, *text;
    } limits[] = {{"memory.max", spawn->memory_bytes ? memory : "max"},
                  {"memory.oom.group", "1"},
                  {"cpu.max", spawn->slots ? cpu : "max"},
                  {"pids.max", pids}};
    int rc = 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits && !rc; i++)
        if ((rc = gw_cgroup_file_put(path, limits[i].name, limits[i].text)) == ENOENT)
            rc = 0; /* the folder lacks the controller */
    return rc;
}

int gw_cgroup_make(struct gw_cgroup *cgroup, const struct gw_msg_spawn *spawn,
                   struct gw_error *error)
{
    const char *folder = getenv("GANGWAY_CGROUP");
    *cgroup = GW_CGROUP_NONE;
    if (!folder)
        return 0;
    char procs[GW_CGROUP_PATH_BYTES + 64];
    path_of(folder, getppid(), spawn->process, cgroup->path);
    (void)snprintf(procs, sizeof procs, "%s/cgroup.procs", cgroup->path);
    int rc = mkdir(cgroup->path, 0755) < 0 && errno != EEXIST ? errno : limit(cgroup->path, spawn);
    if (!rc && (cgroup->procs_fd = open(procs, O_WRONLY | O_CLOEXEC)) < 0)
        rc = errno;
    if (!rc)
        return 0;
    (void)gw_error_set(error, GW_ESTART, "cannot start: the cgroup %s: %s", cgroup->path,
                       strerror(rc));
    gw_cgroup_end(cgroup);
    return GW_ESTART;
}

uint64_t gw_cgroup_peak(const struct gw_cgroup *cgroup)
{
    char path[GW_CGROUP_PATH_BYTES + 64];
    uint64_t bytes = 0;
    (void)snprintf(path, sizeof path, "%s/memory.peak", cgroup->path);
    FILE *file = *cgroup->path ? fopen(path, "re") : NULL;
    if (file && fscanf(file, "%" SCNu64, &bytes) != 1)
        bytes = 0;
    if (file)
        (void)fclose(file);
    return bytes;
}

void gw_cgroup_kill(const struct gw_cgroup *cgroup)
{
    if (*cgroup->path)
        (void)gw_cgroup_file_put(cgroup->path, "cgroup.kill", "1");
}

void gw_cgroup_end(struct gw_cgroup *cgroup)
{
    if (!*cgroup->path)
        return;
    if (cgroup->procs_fd >= 0)
        close(cgroup->procs_fd);
    remove_cgroup(cgroup->path);
    *cgroup = GW_CGROUP_NONE;
}

void gw_cgroup_forget(uint64_t process)
{
    char path[GW_CGROUP_PATH_BYTES];
    if (!getenv("GANGWAY_CGROUP"))
        return;
    path_of(getenv("GANGWAY_CGROUP"), getpid(), process, path);
    remove_cgroup(path);
}
