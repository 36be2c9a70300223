/* The connection to the scheduler for a task's own client. The worker provides it. */
#ifndef GW_RUNNER_TASK_LINK_H
#define GW_RUNNER_TASK_LINK_H

#include "graph/wire/message.h"

/* A connection on which hello was sent for the task, and data of the task's spec. */
struct gw_task_link {
    int fd;
    uint8_t *program; /* hash; owned by the caller, as is env */
    uint32_t program_bytes;
    uint8_t *env; /* a MessagePack list of "NAME=value" */
    uint32_t env_bytes;
};

/* gw_task_link_take reads the worker's answer. It takes over fd if it returns 0. Otherwise it
 * returns the code of the answer, GW_EPROTO (without a descriptor) or GW_ENOMEM. */
int gw_task_link_take(struct gw_task_link *link, const struct gw_msg_task_linked *linked, int fd,
                      struct gw_error *error);

#endif
