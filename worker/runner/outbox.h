/* The runner's side of its socket: what it says, in order, and when that leaves.
 *
 * Results and failures gather so that many short tasks share a message, or a system call. They do
 * not wait for the end of a task that runs long: a thread sends them after a moment, and says that
 * it runs long, so that what the worker sent behind it need not wait either. Everything else is for
 * the one thread that executes tasks. */
#ifndef GW_RUNNER_OUTBOX_H
#define GW_RUNNER_OUTBOX_H

#include "graph/base/spin.h"
#include "graph/wire/channel.h"
#include "worker/runner/report.h"

#include <pthread.h>
#include <stdatomic.h>

struct gw_outbox {
    _Atomic uint64_t head; /* attempt that executes; 0: none to be watched; or it was said */
    _Atomic uint64_t head_since_ns;
    _Atomic bool asleep;   /* the thread waits for `wake` without an end */
    bool attended;         /* the thread was asked for; the executing thread's alone */
    bool unwatched;        /* nobody sends by itself what was added; the executing thread's alone */
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t wake;
    struct gw_channel *channel;
    struct gw_report report;
    uint32_t gathered;  /* messages in the channel, and results of the report, that did not leave */
    uint64_t oldest_ns; /* when the first of them ended */
    bool drained;       /* no whole message is left of what was read */
    struct gw_spin spin;
    bool watched, parked; /* the thread exists; it waits for `wake`, or longer than a round */
};

/* gw_outbox_init takes a connected socket. It lives as long as the process. */
int gw_outbox_init(struct gw_outbox *outbox, int fd);

/* gw_outbox_add adds a task that ended well, with its result (whose descriptor it takes), and sends
 * what there is when that is enough, or the oldest has waited. 0, GW_ENOMEM, GW_ECLOSED. */
int gw_outbox_add(struct gw_outbox *outbox, const struct gw_report_row *row,
                  struct gw_task_result *result);

/* gw_outbox_fail adds a task that failed; error and tail, the last lines of its stderr, are
 * copied. Errors as gw_outbox_add. */
int gw_outbox_fail(struct gw_outbox *outbox, const struct gw_report_row *row,
                   const struct gw_error *error, const char *tail);

/* gw_outbox_note adds a message (copied) behind what was added, as of a task that failed at now_ns.
 * Sends as gw_outbox_add; errors as gw_outbox_say. */
int gw_outbox_note(struct gw_outbox *outbox, const struct gw_message *message, uint64_t now_ns);

/* gw_outbox_say sends results and then a message, at once (_with: and a descriptor, borrowed);
 * gw_outbox_flush sends results. Errors as gw_outbox_add, and GW_ELIMIT. */
int gw_outbox_say(struct gw_outbox *outbox, const struct gw_message *message);
int gw_outbox_say_with(struct gw_outbox *outbox, const struct gw_message *message, int fd);
int gw_outbox_flush(struct gw_outbox *outbox);

/* gw_outbox_begin is called before a task runs: it sees to it that what is there now leaves soon,
 * and (attempt not 0) that the worker is told when the task runs for longer than a moment.
 * gw_outbox_end comes when it ended, before that is told: true when the worker was told so, and
 * answers. */
void gw_outbox_begin(struct gw_outbox *outbox, uint64_t attempt, uint64_t now_ns);
bool gw_outbox_end(struct gw_outbox *outbox);

/* gw_outbox_get is gw_channel_get; descriptors are none of the streams'. Before it waits, all
 * results are sent. Who waits is woken by what comes alone. */
int gw_outbox_get(struct gw_outbox *outbox, bool wait, struct gw_message *message, int *fds,
                  uint8_t *fd_count, struct gw_error *error);

#endif
