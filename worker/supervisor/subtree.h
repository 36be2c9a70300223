/* The processes below another one, as /proc tells them. */
#ifndef GW_SUPERVISOR_SUBTREE_H
#define GW_SUPERVISOR_SUBTREE_H

#include "graph/base/map.h"

#include <stddef.h>
#include <sys/types.h>

struct gw_subtree_options {
    pid_t root;                 /* itself is left alone */
    const struct gw_map *spare; /* pids left alone with all that is below them; NULL: none */
    int signal;                 /* to every process found that has not ended */
};

/* gw_subtree_signal signals every descendant of a process and gives back how many it found that
 * had not ended. One look at a moving target: what forked meanwhile is found by the next call.
 * After another signal than SIGKILL it sends SIGCONT, so that stopped processes see it. SIGKILL
 * goes to their process groups too, where they left the root's session: to a group it is atomic
 * against fork. GW_EIO: /proc cannot be read now; GW_ENOMEM. Not thread-safe. */
int gw_subtree_signal(const struct gw_subtree_options *options, size_t *alive);

#endif
