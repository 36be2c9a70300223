/* The identity of a command's processes. Until the command ends, its processes may connect to the
 * cluster as the user of their job.
 *
 * The worker sets GANGWAY_IDENTITY ("ATTEMPT.RANK.SECRET ADDRESS PATH") for the command, and gives
 * connections to its processes at the socket PATH (worker/net/tasks/task_socket.h). ADDRESS is the
 * value of GANGWAY_ADDRESS that the command was started with ("-": not set). If the command sets a
 * token or another address itself, the identity is not used. */
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

/* gw_identity_find returns true if this process has an identity and has to use it. */
bool gw_identity_find(struct gw_identity *identity);

/* gw_identity_connect asks the worker for a connection to the scheduler, on which hello was already
 * sent. The caller owns *fd. It blocks. Errors, with text: GW_ENOSCHEDULER: no scheduler is
 * connected at the moment; GW_EPERM: the task has ended or never existed. */
int gw_identity_connect(const struct gw_identity *identity, int *fd, struct gw_error *error);

#endif
