/* What the processes of a command are to the cluster that runs it: its job's user, until it ends.
 *
 * Their worker says so in GANGWAY_IDENTITY ("ATTEMPT.RANK.SECRET ADDRESS PATH") and gives them
 * connections at the socket PATH (worker/net/tasks/task_socket.h). What the task sets itself wins:
 * a token, or another address than the one that it found (ADDRESS; "-": none). */
#ifndef GW_CLIENT_IDENTITY_H
#define GW_CLIENT_IDENTITY_H

#include "graph/wire/hash.h"

#include <limits.h>
#include <stdbool.h>

struct gw_identity {
    uint64_t attempt;
    uint32_t rank;
    uint8_t secret[GW_HASH_BYTES];
    char path[PATH_MAX];
};

/* gw_identity_find tells whether this process has one, and is to use it. */
bool gw_identity_find(struct gw_identity *identity);

/* gw_identity_connect gives a connection to the scheduler (the caller's), hello said. Blocks.
 * GW_ENOSCHEDULER: there is none at the moment; GW_EPERM: the task has ended, or never was; with a
 * text. */
int gw_identity_connect(const struct gw_identity *identity, int *fd, struct gw_error *error);

#endif
