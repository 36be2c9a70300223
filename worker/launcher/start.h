/* Starts a supervisor as a Unix user. */
#ifndef GW_LAUNCHER_START_H
#define GW_LAUNCHER_START_H

#include "worker/launcher/account.h"

enum { GW_START_PROCESSES_MAX = 16384 }; /* most processes and threads of a user */

/* gw_start_folder makes the user's folder (mode 0700) in `parent`, which must belong to root and be
 * writable by nobody else. Returns GW_EPERM if it exists and is not a folder of this user, or
 * GW_EIO. */
int gw_start_folder(const char *parent, const struct gw_account *account, struct gw_error *error);

/* gw_start_check returns GW_EPERM, with what to do, if anybody but root may write the program or
 * its folder. */
int gw_start_check(const char *program, struct gw_error *error);

/* gw_start_cgroups prepares the cgroup `parent` (of version 2) for cgroups of users: it enables the
 * controllers, and moves this process to a child, since a cgroup with controllers may have no
 * processes. Returns GW_EPERM, with what to do. */
int gw_start_cgroups(const char *parent, struct gw_error *error);

/* gw_start starts `program` with the argument `command` as the user, with fd as descriptor 3 and
 * no other descriptors but /dev/null. If `cgroups` is not NULL, the process starts in a cgroup of
 * the user's there, which the user may divide, with at most GW_START_PROCESSES_MAX processes. It
 * returns when the process exists, not when the program runs: if it cannot run, the other end of fd
 * is closed. Writes its pid. Returns GW_EIO if it fails. */
int gw_start(const char *program, const char *command, const char *cgroups,
             const struct gw_account *account, int fd, pid_t *pid, struct gw_error *error);

#endif
