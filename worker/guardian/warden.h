/* A warden: one process between the guardian and each process it started, so that whatever that
 * process leaves behind, in whatever session and under whatever name, has a place in the tree. */
#ifndef GW_GUARDIAN_WARDEN_H
#define GW_GUARDIAN_WARDEN_H

/* gw_warden_main is a forked guardian's second life: by `fd`, the guardian's socket, it takes
 * `spawn` and `bury`, one process at a time, answers with `spawned`, `exited` and `buried`, and
 * ends, when the other end closes, after its last descendant. Does not return. */
void gw_warden_main(int fd) __attribute__((noreturn));

#endif
