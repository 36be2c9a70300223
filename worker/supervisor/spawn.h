/* Starts one process: descriptors, session, signals and exec, and the exact reason if it fails. */
#ifndef GW_SUPERVISOR_SPAWN_H
#define GW_SUPERVISOR_SPAWN_H

#include "graph/wire/message.h"
#include "worker/supervisor/oom.h"

#include <sys/types.h>

struct gw_spawn_options {
    const struct gw_msg_spawn *message; /* borrowed; if its path is empty, argv[0] is used */
    int in_fd, out_fd, err_fd;          /* become descriptors 0, 1, 2; borrowed */
    int runner_fd;                      /* becomes descriptor 3; -1: none; borrowed */
    const char *variable; /* additional "NAME=value" of the environment, or NULL; borrowed */
    const struct gw_oom_score *score; /* borrowed */
    int cgroup_fd; /* cgroup.procs of its cgroup; 0: stays in that of the caller; borrowed */
};

/* gw_spawn starts a process in a session of its own. The process has no other descriptors, no
 * blocked or ignored signals, and gets SIGKILL when its parent ends. The function returns when exec
 * has succeeded or failed. It returns GW_ENOENT (no such program) or GW_ESTART and sets the error
 * ("cannot start x: no such file"), GW_EPROTO or GW_ENOMEM. The caller must have blocked all
 * signals and must handle none. Not thread-safe. */
int gw_spawn(const struct gw_spawn_options *options, pid_t *pid, struct gw_error *error);

#endif
