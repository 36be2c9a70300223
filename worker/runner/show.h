/* What the task that executes prints is told its client, while it runs and when it has ended. */
#ifndef GW_RUNNER_SHOW_H
#define GW_RUNNER_SHOW_H

#include "worker/runner/outbox.h"
#include "worker/runner/output.h"

struct gw_show {
    struct gw_outbox *outbox; /* borrowed */
    pthread_mutex_t mutex;    /* guards all below */
    pthread_cond_t wake;
    uint64_t attempt; /* that executes; 0: none that is shown */
    uint32_t rank;
    int fds[2];          /* what it writes to, to be read; -1: nothing */
    bool own[2];         /* they are closed at its end */
    uint64_t offsets[2]; /* how far that was told */
    bool started, asleep;
    uint8_t data[128 << 10];
};

/* gw_show_init prepares one; it lives as long as the process. */
void gw_show_init(struct gw_show *show, struct gw_outbox *outbox);

/* gw_show_begin is called when the output of an attempt has its place; redirected: in files of its
 * own. gw_show_end comes when it has ended, before its output is moved: then all of it is told but
 * what is more than a message holds. */
void gw_show_begin(struct gw_show *show, const struct gw_output *output, bool redirected,
                   uint64_t attempt, uint32_t rank);
void gw_show_end(struct gw_show *show);

#endif
