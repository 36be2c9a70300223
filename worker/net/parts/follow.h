/* Answers log_read requests: sends parts of output files, at once or when there is more output. */
#ifndef GW_NET_FOLLOW_H
#define GW_NET_FOLLOW_H

#include "graph/wire/message.h"
#include "worker/core/node.h"

#include <uv.h>

struct gw_follow;

struct gw_follow_options {
    uv_loop_t *loop;
    const struct gw_node_core *core; /* borrowed; knows the live attempts */
    const char *log_dir;             /* borrowed */
    uint64_t incarnation;
    /* Sends a log_data message, which is borrowed during the call, to the scheduler. */
    void (*send)(const struct gw_message *message, void *arg);
    /* Called if the reader of a held process has read all bytes of a stream before offset. */
    void (*on_held_read)(uint64_t process, uint32_t stream, uint64_t offset, void *arg);
    void *arg;
};

struct gw_follow *gw_follow_new(const struct gw_follow_options *options);

/* gw_follow_close frees the structure when its timers are closed. */
void gw_follow_close(struct gw_follow *follow);

/* gw_follow_read answers a request. If the request has `follow` set, it may be answered later, when
 * there is more output. */
void gw_follow_read(struct gw_follow *follow, const struct gw_msg_log_read *request);

/* gw_follow_ended answers requests that wait for output of attempts that have ended. */
void gw_follow_ended(struct gw_follow *follow);

/* gw_follow_forget drops all waiting requests, since the scheduler that sent them is gone. */
void gw_follow_forget(struct gw_follow *follow);

#endif
