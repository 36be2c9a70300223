/* Adaptive polling: a thread that waits for an event that usually comes soon polls for a short time
 * before it sleeps.
 *
 * Waking a sleeping thread on another CPU takes 20 to 70 us on a virtual machine. That is longer
 * than most messages between the processes of one task take. While it polls, the thread yields its
 * CPU in each round. It polls for a limited time, only if its last wait was short, and less often
 * after unsuccessful polling. */
#ifndef GW_BASE_SPIN_H
#define GW_BASE_SPIN_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_spin {
    uint64_t limit_ns; /* maximum time to poll; 0: never polls */
    bool soon;         /* the last wait was short */
    uint32_t skip;     /* this many more short waits are done without polling */
    uint32_t skips;    /* the value that `skip` was set to after the last polling */
};

/* gw_spin_init sets the time limit from $GANGWAY_SPIN_US. The default is 100; 0 means that the
 * thread never polls. If the value is not a number up to 10000, the default is used and a warning
 * is logged. If the calling thread may use only one CPU, it never polls. No cleanup is needed. */
void gw_spin_init(struct gw_spin *spin);

/* gw_spin_poll does the same as poll, for at most timeout_ns (UINT64_MAX: no limit). It is not a
 * thread cancellation point. It returns the result of poll, or -1 with errno. A gw_spin is used by
 * one thread at a time. */
int gw_spin_poll(struct gw_spin *spin, struct pollfd *fds, nfds_t count, uint64_t timeout_ns);

#endif
