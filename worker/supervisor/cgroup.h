/* Cgroups (version 2) of processes: limits that the kernel enforces, and an end that no process
 * escapes. The environment variable GANGWAY_CGROUP names a folder that this process may change.
 * Without it, all functions do nothing. */
#ifndef GW_SUPERVISOR_CGROUP_H
#define GW_SUPERVISOR_CGROUP_H

#include "graph/wire/message.h"

enum { GW_CGROUP_PATH_BYTES = 4096 };

struct gw_cgroup {
    char path[GW_CGROUP_PATH_BYTES]; /* "": none */
    int procs_fd;                    /* a child that writes "0" to it joins the cgroup; -1: none */
};

#define GW_CGROUP_NONE ((struct gw_cgroup){.procs_fd = -1})

/* gw_cgroup_open prepares the folder in the supervisor: its controllers, and a cgroup for processes
 * that are in the folder itself. It kills what dead supervisors have left there. */
void gw_cgroup_open(void);

/* gw_cgroup_make makes the cgroup of a process, with the limits of the message, in a reaper. A
 * limit whose controller the folder lacks is left out. Returns GW_ESTART with a text. */
int gw_cgroup_make(struct gw_cgroup *cgroup, const struct gw_msg_spawn *spawn,
                   struct gw_error *error);

/* gw_cgroup_peak returns the most memory that the cgroup has used so far, or 0 if the kernel does
 * not say (memory.peak of Linux 5.19, and the memory controller). */
uint64_t gw_cgroup_peak(const struct gw_cgroup *cgroup);

/* gw_cgroup_kill kills all processes in the cgroup. gw_cgroup_end does the same, waits up to 100
 * ms, and removes the cgroup. */
void gw_cgroup_kill(const struct gw_cgroup *cgroup);
void gw_cgroup_end(struct gw_cgroup *cgroup);

/* gw_cgroup_forget does the same for a process of this supervisor whose reaper was killed. */
void gw_cgroup_forget(uint64_t process);

#endif
