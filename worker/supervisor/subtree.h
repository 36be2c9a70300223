/* Signals all descendants of a process, which it finds in /proc. */
#ifndef GW_SUPERVISOR_SUBTREE_H
#define GW_SUPERVISOR_SUBTREE_H

#include "graph/base/map.h"

#include <stddef.h>
#include <sys/types.h>

struct gw_subtree_options {
    pid_t root; /* not signalled itself */
    /* Processes that are not signalled, with all their descendants; NULL: none */
    const struct gw_map *spare;
    int signal; /* sent to each process that has not ended */
};

/* gw_subtree_signal signals every descendant of a process and returns in *alive how many had not
 * ended. It makes one pass, so processes forked meanwhile are found by the next call. After a
 * signal other than SIGKILL it sends SIGCONT, so that stopped processes handle the signal. SIGKILL
 * is also sent to process groups outside the root's session, since the kernel signals a group
 * atomically with respect to fork. Returns GW_EIO if /proc cannot be read, or GW_ENOMEM. Not
 * thread-safe. */
int gw_subtree_signal(const struct gw_subtree_options *options, size_t *alive);

#endif
