/* The connection to the scheduler that a task's own client uses: the worker gives it. */
#ifndef GW_RUNNER_TASK_LINK_H
#define GW_RUNNER_TASK_LINK_H

#include "graph/wire/message.h"

/* A connection to the scheduler for a task, on which hello was said, and what its spec says. */
struct gw_task_link {
    int fd;
    uint8_t *program; /* hash; owned by the caller then, as env is */
    uint32_t program_bytes;
    uint8_t *env; /* a MessagePack list of "NAME=value" */
    uint32_t env_bytes;
};

/* gw_task_link_take reads the worker's answer; it takes the descriptor if it returns 0. The code of
 * the answer, GW_EPROTO (no descriptor came) or GW_ENOMEM. */
int gw_task_link_take(struct gw_task_link *link, const struct gw_msg_task_linked *linked, int fd,
                      struct gw_error *error);

#endif
