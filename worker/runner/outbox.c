/* Gathers and sends messages to the worker.
 *
 * Invariants: ends are reported in order. The report of a failure puts all earlier results into the
 * channel first.
 *
 * Gathered messages are sent when nothing is left to execute (gw_outbox_get). As long as tasks are
 * short, they are sent GATHER_NS after the first of them. Otherwise the watching thread sends them
 * within two of its rounds. The thread runs a round every ROUND_NS only while something is
 * gathered. It runs slower while a task runs. Otherwise it waits to be woken. Tasks that arrive now
 * and then find it awake, so they need not wake it. */
#include "worker/runner/outbox.h"

#include "graph/base/clock.h"
#include "graph/base/thread.h"
#include "graph/wire/enums.h"
#include "worker/runner/stream.h"

#include <time.h>

#define GATHER_NS (200 * GW_NS_PER_US)
#define ROUND_NS GW_NS_PER_MS
/* CPU time is told after tasks of this time together: reading it costs a microsecond. */
#define USED_NS GW_NS_PER_MS
/* A task that runs longer than this lets no other task wait behind it. With a smaller limit, tasks
 * on busy machines that only wait for a processor would be reported, too. */
#define LONG_NS (50 * GW_NS_PER_MS)
#define HEAD_SAID UINT64_MAX
enum { QUIET_ROUNDS_MAX = 20, NAPS_MAX = 4, NAP_MS = 16 };

int gw_outbox_init(struct gw_outbox *outbox, int fd)
{
    pthread_condattr_t attributes;
    *outbox = (struct gw_outbox){.mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&outbox->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    gw_spin_init(&outbox->spin);
    return gw_channel_new(fd, &outbox->channel);
}

/* Puts the gathered ends into the channel, and the CPU time before them. This does not end a report
 * earlier: smaller reports would make the worker send smaller batches, too. */
static int put_report(struct gw_outbox *outbox)
{
    const uint64_t ran_ns = atomic_load_explicit(&outbox->ran_ns, memory_order_relaxed);
    int rc = 0;
    if (ran_ns - outbox->told_ns >= USED_NS) {
        const struct gw_message used = {.type = GW_MESSAGE_used,
                                        .used = {.cpu_ns = gw_clock_cpu_ns(true)}};
        outbox->told_ns = ran_ns;
        rc = gw_channel_put(outbox->channel, &used, (struct gw_channel_fds){0});
    }
    return rc < 0 ? rc : gw_report_put(&outbox->report, outbox->channel);
}

static int flush_locked(struct gw_outbox *outbox)
{
    int rc = put_report(outbox);
    outbox->gathered = 0;
    return rc < 0 ? rc : gw_channel_flush(outbox->channel);
}

/* Counts a gathered message. Sends all if enough are gathered or if the oldest has waited long
 * enough. */
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
                  struct gw_task_result *result)
{
    pthread_mutex_lock(&outbox->mutex);
    int rc = 0;
    if (!gw_report_takes(&outbox->report, NULL, ""))
        rc = put_report(outbox);
    if (rc == 0)
        rc = gw_report_add(&outbox->report, row, result);
    if (rc == 0)
        rc = gather_locked(outbox, row->ended_ns);
    pthread_mutex_unlock(&outbox->mutex);
    return rc;
}

int gw_outbox_fail(struct gw_outbox *outbox, const struct gw_report_row *row,
                   const struct gw_error *error, const char *tail)
{
    pthread_mutex_lock(&outbox->mutex);
    int rc = 0;
    if (!gw_report_takes(&outbox->report, error, tail))
        rc = put_report(outbox);
    if (rc == 0) {
        gw_report_fail(&outbox->report, row, error, tail);
        rc = gather_locked(outbox, row->ended_ns);
    }
    pthread_mutex_unlock(&outbox->mutex);
    return rc;
}

int gw_outbox_note(struct gw_outbox *outbox, const struct gw_message *message, uint64_t now_ns)
{
    pthread_mutex_lock(&outbox->mutex);
    int rc = put_report(outbox);
    if (rc == 0)
        rc = gw_channel_put(outbox->channel, message, (struct gw_channel_fds){0});
    if (rc == 0)
        rc = gather_locked(outbox, now_ns);
    pthread_mutex_unlock(&outbox->mutex);
    return rc;
}

void gw_outbox_ran(struct gw_outbox *outbox, uint64_t run_ns)
{
    const uint64_t ran_ns = atomic_load_explicit(&outbox->ran_ns, memory_order_relaxed);
    atomic_store_explicit(&outbox->ran_ns, ran_ns + run_ns, memory_order_relaxed);
}

int gw_outbox_say(struct gw_outbox *outbox, const struct gw_message *message)
{
    return gw_outbox_say_with(outbox, message, -1);
}

int gw_outbox_say_with(struct gw_outbox *outbox, const struct gw_message *message, int fd)
{
    const struct gw_channel_fds fds = {.fds = &fd, .count = fd >= 0};
    pthread_mutex_lock(&outbox->mutex);
    int rc = put_report(outbox);
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

/* Waits for input in poll. A thread that blocks in recvmsg would also be woken when the worker
 * reads, since this frees space in the socket's buffer. That would take processor time from the
 * worker for nothing. The result of poll is ignored, since the read shows it. */
static void wait_for_input(struct gw_outbox *outbox)
{
    struct pollfd fd = {.fd = gw_channel_fd(outbox->channel), .events = POLLIN};
    (void)gw_spin_poll(&outbox->spin, &fd, 1, UINT64_MAX);
}

int gw_outbox_get(struct gw_outbox *outbox, bool wait, struct gw_message *message, int *fds,
                  uint8_t *fd_count, struct gw_error *error)
{
    pthread_mutex_lock(&outbox->mutex);
    int rc = wait && outbox->drained
                 ? GW_EAGAIN
                 : gw_channel_get(outbox->channel, false, message, fds, fd_count, error);
    if (rc == GW_EAGAIN && wait) {
        rc = flush_locked(outbox);
        if (rc == 0) { /* keeps the mutex: there is nothing to send while it waits */
            wait_for_input(outbox);
            rc = gw_channel_get(outbox->channel, true, message, fds, fd_count, error);
        }
    }
    outbox->drained = rc == GW_EAGAIN;
    pthread_mutex_unlock(&outbox->mutex);
    for (uint8_t i = 0; rc == 0 && i < *fd_count; i++)
        fds[i] = gw_stream_apart(fds[i]);
    return rc;
}

/* -- The watching thread -------------------------------------------------------------------------
 */

/* Returns true if a task runs that was not reported as long. */
static bool looks(const struct gw_outbox *outbox)
{
    uint64_t head = atomic_load(&outbox->head);
    return head != 0 && head != HEAD_SAID;
}

/* Sleeps for longer than a round, or until woken. After some sleeps without a task, it sleeps until
 * it is woken. */
static void nap(struct gw_outbox *outbox, unsigned naps)
{
    struct timespec until;
    outbox->parked = true;
    if (naps >= NAPS_MAX) {
        /* Must be set before head is read; see gw_outbox_begin */
        atomic_store(&outbox->asleep, true);
        while (outbox->parked && atomic_load(&outbox->asleep) && !looks(outbox))
            pthread_cond_wait(&outbox->wake, &outbox->mutex);
        atomic_store(&outbox->asleep, false);
    } else {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += (long)((uint64_t)NAP_MS << naps) * (long)GW_NS_PER_MS;
        until.tv_sec += until.tv_nsec / (long)GW_NS_PER_S;
        until.tv_nsec %= (long)GW_NS_PER_S;
        while (outbox->parked && pthread_cond_timedwait(&outbox->wake, &outbox->mutex, &until) == 0)
            continue;
    }
    outbox->parked = false;
}

/* Reports once that the task runs long. The report of its end comes later, since that needs the
 * mutex, too. */
static void tell_long(struct gw_outbox *outbox)
{
    uint64_t attempt = atomic_load(&outbox->head);
    if (!looks(outbox) || gw_clock_now_ns() - atomic_load(&outbox->head_since_ns) < LONG_NS ||
        !atomic_compare_exchange_strong(&outbox->head, &attempt, HEAD_SAID))
        return;
    const struct gw_message message = {
        .type = GW_MESSAGE_task_blocked,
        .task_blocked = {.attempt = attempt, .rank = GW_RANK_NONE, .blocked = GW_BLOCKED_LONG}};
    (void)put_report(outbox);
    (void)gw_channel_put(outbox->channel, &message, (struct gw_channel_fds){0});
    (void)flush_locked(outbox);
}

/* Errors of the socket are ignored here: the main thread will see them, too. */
static void *watch_main(void *arg)
{
    struct gw_outbox *outbox = arg;
    unsigned quiet = 0, naps = 0;
    pthread_mutex_lock(&outbox->mutex);
    for (;;) {
        if (quiet >= QUIET_ROUNDS_MAX) {
            nap(outbox, naps);
        } else {
            pthread_mutex_unlock(&outbox->mutex);
            nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
            pthread_mutex_lock(&outbox->mutex);
        }
        naps = quiet < QUIET_ROUNDS_MAX || looks(outbox) ? 0 : naps + 1;
        quiet = outbox->gathered ? 0 : quiet + 1;
        if (outbox->gathered && gw_clock_now_ns() - outbox->oldest_ns >= ROUND_NS)
            (void)flush_locked(outbox);
        tell_long(outbox);
    }
    return NULL;
}

static bool start_thread(struct gw_outbox *outbox)
{
    pthread_t thread;
    bool started = gw_thread_start(&thread, watch_main, outbox) == 0;
    if (started)
        pthread_detach(thread);
    return started;
}

static void watch(struct gw_outbox *outbox)
{
    /* Unwatched cannot become true later, since the thread does not park while something is
     * gathered. */
    if (!outbox->unwatched)
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

/* Starts or wakes the thread, since a task runs that it must watch. */
static void attend(struct gw_outbox *outbox)
{
    pthread_mutex_lock(&outbox->mutex);
    outbox->watched = outbox->watched || start_thread(outbox);
    if (atomic_exchange(&outbox->asleep, false))
        pthread_cond_signal(&outbox->wake);
    pthread_mutex_unlock(&outbox->mutex);
}

void gw_outbox_begin(struct gw_outbox *outbox, uint64_t attempt, uint64_t now_ns)
{
    watch(outbox);
    if (!attempt)
        return;
    atomic_store(&outbox->head_since_ns, now_ns);
    atomic_store(&outbox->head, attempt);
    /* Must be read after head is set; see nap */
    if (!outbox->attended || atomic_load(&outbox->asleep))
        attend(outbox);
    outbox->attended = true;
}

bool gw_outbox_end(struct gw_outbox *outbox)
{
    return atomic_exchange(&outbox->head, 0) == HEAD_SAID;
}
