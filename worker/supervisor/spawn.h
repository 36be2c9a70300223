/* Starting one process: descriptors, session, signals, exec, and the exact reason if it fails. */
#ifndef GW_SUPERVISOR_SPAWN_H
#define GW_SUPERVISOR_SPAWN_H

#include "graph/wire/message.h"
#include "worker/supervisor/oom.h"

#include <sys/types.h>

struct gw_spawn_options {
    const struct gw_msg_spawn *message; /* borrowed; an empty path: argv[0] */
    int in_fd, out_fd, err_fd;          /* become 0, 1, 2; borrowed */
    int runner_fd;                      /* becomes 3; -1: none; borrowed */
    const char *variable;               /* "NAME=value", of its environment too; NULL; borrowed */
    const struct gw_oom_score *score;   /* borrowed */
};

/* gw_spawn starts a process in a session of its own, with no other descriptors, no signal blocked
 * or ignored, and SIGKILL when its parent ends; it returns when exec has succeeded or failed.
 * GW_ENOENT (there is no such program) or GW_ESTART, with a text ("cannot start x: no such file");
 * GW_EPROTO, GW_ENOMEM. The caller has all
 * signals blocked and handles none. Not thread-safe. */
int gw_spawn(const struct gw_spawn_options *options, pid_t *pid, struct gw_error *error);

#endif
