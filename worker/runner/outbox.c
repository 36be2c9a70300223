/* Gathering and sending.
 *
 * Always: what ended earlier is told earlier; a failure puts the results before it into the
 * channel.
 *
 * What is gathered leaves when nothing is left to execute (gw_outbox_get), GATHER_NS after the
 * first of them as long as tasks are short, and otherwise by the watching thread, within two of its
 * rounds. It goes round only while there is something to watch, and otherwise waits to be woken. */
#include "worker/runner/outbox.h"

#include "graph/base/clock.h"

#include <signal.h>
#include <time.h>

#define GATHER_NS (200 * GW_NS_PER_US)
#define ROUND_NS GW_NS_PER_MS
enum { QUIET_ROUNDS_MAX = 20 };

int gw_outbox_init(struct gw_outbox *outbox, int fd)
{
    *outbox =
        (struct gw_outbox){.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
    return gw_channel_new(fd, &outbox->channel);
}

static int flush_locked(struct gw_outbox *outbox)
{
    int rc = gw_report_put(&outbox->report, outbox->channel);
    outbox->gathered = 0;
    return rc < 0 ? rc : gw_channel_flush(outbox->channel);
}

/* One more has gathered: sends them where that is enough, or the oldest has waited. */
static int gather_locked(struct gw_outbox *outbox, uint64_t ended_ns)
{
    if (outbox->gathered++ == 0)
        outbox->oldest_ns = ended_ns;
    int rc = 0;
    if (outbox->gathered >= GW_REPORT_ROWS_MAX || gw_report_is_full(&outbox->report) ||
        ended_ns - outbox->oldest_ns >= GATHER_NS)
        rc = flush_locked(outbox);
    outbox->unwatched = outbox->gathered && (!outbox->watched || outbox->parked);
    return rc;
}

int gw_outbox_add(struct gw_outbox *outbox, const struct gw_report_row *row,
                  struct gw_result *result)
{
    pthread_mutex_lock(&outbox->mutex);
    int rc = gw_report_add(&outbox->report, row, result);
    if (rc == 0)
        rc = gather_locked(outbox, row->ended_ns);
    pthread_mutex_unlock(&outbox->mutex);
    return rc;
}

int gw_outbox_add_failed(struct gw_outbox *outbox, const struct gw_message *message,
                         uint64_t ended_ns)
{
    pthread_mutex_lock(&outbox->mutex);
    int rc = gw_report_put(&outbox->report, outbox->channel);
    if (rc == 0)
        rc = gw_channel_put(outbox->channel, message, (struct gw_channel_fds){0});
    if (rc == 0)
        rc = gather_locked(outbox, ended_ns);
    pthread_mutex_unlock(&outbox->mutex);
    return rc;
}

int gw_outbox_say(struct gw_outbox *outbox, const struct gw_message *message)
{
    return gw_outbox_say_with(outbox, message, -1);
}

int gw_outbox_say_with(struct gw_outbox *outbox, const struct gw_message *message, int fd)
{
    const struct gw_channel_fds fds = {.fds = &fd, .count = fd >= 0};
    pthread_mutex_lock(&outbox->mutex);
    int rc = gw_report_put(&outbox->report, outbox->channel);
    if (rc == 0)
        rc = gw_channel_put(outbox->channel, message, fds);
    if (rc == 0)
        rc = flush_locked(outbox);
    pthread_mutex_unlock(&outbox->mutex);
    return rc;
}

int gw_outbox_flush(struct gw_outbox *outbox)
{
    pthread_mutex_lock(&outbox->mutex);
    int rc = flush_locked(outbox);
    pthread_mutex_unlock(&outbox->mutex);
    return rc;
}

int gw_outbox_get(struct gw_outbox *outbox, bool wait, struct gw_message *message, int *fds,
                  uint8_t *fd_count, struct gw_error *error)
{
    pthread_mutex_lock(&outbox->mutex);
    int rc = wait ? flush_locked(outbox) : 0;
    if (rc == 0) /* with the lock: while it waits there is nothing to send */
        rc = gw_channel_get(outbox->channel, wait, message, fds, fd_count, error);
    pthread_mutex_unlock(&outbox->mutex);
    return rc;
}

/* -- Watching ------------------------------------------------------------------------------------
 */

/* A socket that fails is for the main thread to find. */
static void *watch_main(void *arg)
{
    struct gw_outbox *outbox = arg;
    unsigned quiet = 0;
    pthread_mutex_lock(&outbox->mutex);
    for (;;) {
        if (quiet == QUIET_ROUNDS_MAX) {
            outbox->parked = true;
            while (outbox->parked)
                pthread_cond_wait(&outbox->wake, &outbox->mutex);
        }
        pthread_mutex_unlock(&outbox->mutex);
        nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
        pthread_mutex_lock(&outbox->mutex);
        quiet = outbox->gathered ? 0 : quiet + 1;
        if (outbox->gathered && gw_clock_now_ns() - outbox->oldest_ns >= ROUND_NS)
            (void)flush_locked(outbox);
    }
    return NULL;
}

/* The user's signals are for the user's threads. */
static bool start_thread(struct gw_outbox *outbox)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, watch_main, outbox) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

void gw_outbox_watch(struct gw_outbox *outbox)
{
    if (!outbox->unwatched) /* and so it stays: while something is gathered nobody is parked */
        return;
    outbox->unwatched = false;
    pthread_mutex_lock(&outbox->mutex);
    if (outbox->gathered) {
        if (!outbox->watched && !(outbox->watched = start_thread(outbox)))
            (void)flush_locked(outbox);
        if (outbox->parked) {
            outbox->parked = false;
            pthread_cond_signal(&outbox->wake);
        }
    }
    pthread_mutex_unlock(&outbox->mutex);
}
