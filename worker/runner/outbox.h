/* The outbox: sends the runner's messages to the worker, in order.
 *
 * Results and failures are gathered, so that many short tasks share a message and a system call.
 * Gathered results do not wait for the end of a task that runs long. A thread sends them after a
 * moment and reports that the task runs long. The worker can then move the tasks behind it to other
 * runners. All other functions must be called by the thread that executes tasks. */
#ifndef GW_RUNNER_OUTBOX_H
#define GW_RUNNER_OUTBOX_H

#include "graph/base/spin.h"
#include "graph/wire/channel.h"
#include "worker/runner/report.h"

#include <pthread.h>
#include <stdatomic.h>

struct gw_outbox {
    /* Attempt that executes; 0: none to watch. HEAD_SAID: the report was sent */
    _Atomic uint64_t head;
    _Atomic uint64_t head_since_ns;
    _Atomic bool asleep; /* the thread waits for `wake` without a timeout */
    bool attended;       /* the thread was requested; only for the executing thread */
    /* Nothing sends the gathered messages by itself; only for the executing thread */
    bool unwatched;
    _Atomic uint64_t ran_ns; /* of all tasks that have ended; the executing thread writes it */
    pthread_mutex_t mutex;   /* guards all fields below */
    uint64_t told_ns;        /* ran_ns when the CPU time was last told */
    pthread_cond_t wake;
    struct gw_channel *channel;
    struct gw_report report;
    uint32_t gathered;  /* messages in the channel and results in report that were not sent */
    uint64_t oldest_ns; /* when the first of them ended */
    bool drained;       /* no complete message is left in the input buffer */
    struct gw_spin spin;
    /* watched: the thread exists. parked: it sleeps for longer than a round */
    bool watched, parked;
};

/* gw_outbox_init takes over a connected socket. The outbox lives as long as the process. */
int gw_outbox_init(struct gw_outbox *outbox, int fd);

/* gw_outbox_add adds a task that has succeeded, with its result, whose descriptor it takes over. It
 * sends everything if enough was gathered or if the oldest has waited long enough. Returns 0,
 * GW_ENOMEM or GW_ECLOSED. */
int gw_outbox_add(struct gw_outbox *outbox, const struct gw_report_row *row,
                  struct gw_task_result *result);

/* gw_outbox_fail adds a task that has failed. error and tail (the last lines of its stderr) are
 * copied. Errors: as gw_outbox_add. */
int gw_outbox_fail(struct gw_outbox *outbox, const struct gw_report_row *row,
                   const struct gw_error *error, const char *tail);

/* gw_outbox_note adds a message (copied) behind everything that was added. It is sent like the
 * report of a task that failed at now_ns. Errors: as gw_outbox_say. */
int gw_outbox_note(struct gw_outbox *outbox, const struct gw_message *message, uint64_t now_ns);

/* gw_outbox_say sends all gathered results and then a message, at once. gw_outbox_say_with also
 * sends a descriptor (borrowed). gw_outbox_flush sends all gathered results. Errors: as
 * gw_outbox_add, and GW_ELIMIT. */
int gw_outbox_say(struct gw_outbox *outbox, const struct gw_message *message);
int gw_outbox_say_with(struct gw_outbox *outbox, const struct gw_message *message, int fd);
int gw_outbox_flush(struct gw_outbox *outbox);

/* gw_outbox_begin must be called before a task runs. It makes sure that gathered results are sent
 * soon, and that the worker is told if the task runs long (unless attempt is 0). gw_outbox_end must
 * be called when the task has ended, before its end is reported. It returns true if the worker was
 * told that the task runs long. The worker answers this. */
void gw_outbox_begin(struct gw_outbox *outbox, uint64_t attempt, uint64_t now_ns);
bool gw_outbox_end(struct gw_outbox *outbox);

/* gw_outbox_ran must be called when a task has ended, before its end is reported. The CPU time of
 * the runner is then sent with the end, unless all tasks since the last time were too short. */
void gw_outbox_ran(struct gw_outbox *outbox, uint64_t run_ns);

/* gw_outbox_get is gw_channel_get, but a received descriptor is never 0, 1 or 2. Before it waits,
 * it sends all results. Only input wakes it. */
int gw_outbox_get(struct gw_outbox *outbox, bool wait, struct gw_message *message, int *fds,
                  uint8_t *fd_count, struct gw_error *error);

#endif
