/* A reaper: one process between the supervisor and each process it started, so that whatever that
 * process leaves behind, in whatever session and under whatever name, has a place in the tree. */
#ifndef GW_SUPERVISOR_REAPER_H
#define GW_SUPERVISOR_REAPER_H

/* gw_reaper_main is a forked supervisor's second life: by `fd`, the supervisor's socket, it takes
 * `spawn` and `bury`, one process at a time, answers with `spawned`, `exited` and `buried`, and
 * ends, when the other end closes, after its last descendant. Does not return. */
void gw_reaper_main(int fd) __attribute__((noreturn));

#endif
