/* Sends what the executing task prints to its client, while it runs and when it has ended. */
#ifndef GW_RUNNER_SHOW_H
#define GW_RUNNER_SHOW_H

#include "worker/runner/outbox.h"
#include "worker/runner/output.h"

struct gw_show {
    struct gw_outbox *outbox; /* borrowed */
    pthread_mutex_t mutex;    /* guards all fields below */
    pthread_cond_t wake;
    uint64_t attempt; /* attempt that executes; 0: none to show */
    uint32_t rank;
    int fds[2];          /* files that the task writes to; -1: none */
    bool own[2];         /* close them at the end */
    uint64_t offsets[2]; /* position up to which output was sent */
    bool started, asleep;
    uint8_t data[128 << 10];
};

/* gw_show_init initialises the structure. It lives as long as the process. */
void gw_show_init(struct gw_show *show, struct gw_outbox *outbox);

/* gw_show_begin must be called when the output of an attempt has its place. redirected: it is in
 * files of the attempt. gw_show_end must be called when the attempt has ended, before its output is
 * moved. It sends the rest of the output, but at most one message. */
void gw_show_begin(struct gw_show *show, const struct gw_output *output, bool redirected,
                   uint64_t attempt, uint32_t rank);
void gw_show_end(struct gw_show *show);

#endif
