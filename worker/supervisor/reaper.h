/* A reaper: a process between the supervisor and each process of a user. All descendants of that
 * process stay below the reaper in the process tree, whatever their session and name. */
#ifndef GW_SUPERVISOR_REAPER_H
#define GW_SUPERVISOR_REAPER_H

/* gw_reaper_main turns a fork of the supervisor into a reaper. `fd` is its socket to the
 * supervisor. It receives `spawn` and `reap`, has one process at a time, and answers with
 * `spawned`, `exited` and `reaped`. When the socket is closed, it ends after its last descendant.
 * Does not return. */
void gw_reaper_main(int fd) __attribute__((noreturn));

#endif
