/* Adaptive spinning: who waits for what mostly comes soon looks for a moment before it sleeps.
 *
 * Waking a thread on another CPU costs who wakes it and whom it wakes 20 to 70 us on a virtual
 * machine; that is more than most of what passes between the processes of one task. Who looks gives
 * its CPU to whoever wants it, round by round. It looks for a limited time, only where the last
 * wait was about so short, and ever more rarely where looking was in vain. */
#ifndef GW_BASE_SPIN_H
#define GW_BASE_SPIN_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_spin {
    uint64_t limit_ns; /* 0: it never looks */
    bool soon;         /* the last wait was a short one */
    uint32_t skip;     /* so many short waits more are slept through, */
    uint32_t skips;    /* of so many */
};

/* gw_spin_init: it looks for $GANGWAY_SPIN_US (0: never; 100 where it is not set, or, with a word
 * in the log, is not a number up to 10000), and never where the calling thread may use one CPU
 * only. Nothing is to be freed. */
void gw_spin_init(struct gw_spin *spin);

/* gw_spin_poll is poll, of at most timeout_ns (UINT64_MAX: for ever), and no point at which a
 * thread is cancelled. Gives what poll gives; -1 with errno. One thread at a time. */
int gw_spin_poll(struct gw_spin *spin, struct pollfd *fds, nfds_t count, uint64_t timeout_ns);

#endif
