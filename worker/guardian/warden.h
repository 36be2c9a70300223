/* A warden: one process between the guardian and each process it started, so that whatever that
 * process leaves behind, in whatever session and under whatever name, has a place in the tree. */
#ifndef GW_GUARDIAN_WARDEN_H
#define GW_GUARDIAN_WARDEN_H

struct gw_warden_options {
    int fd;                    /* the guardian's socket */
    const char *oom_score_adj; /* for what it starts; NULL: left as it is */
};

/* gw_warden_main is a forked guardian's second life: it takes the guardian's `spawn` and `bury`
 * one process at a time, answers with `spawned`, `exited` and `buried`, and ends, when the other
 * end closes, after its last descendant. Does not return. */
void gw_warden_main(const struct gw_warden_options *options) __attribute__((noreturn));

#endif
