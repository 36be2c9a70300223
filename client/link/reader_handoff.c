/* Decides which thread reads the messages of the scheduler. Invariant: if `lent` is false, the
 * loop thread reads from the connection. If `lent` is true, the loop thread has passed the
 * connection on, and only the thread that has set `reading` reads from it. Both fields change only
 * while the lock is held. */
#include "client/link/reader_handoff.h"

#include "graph/base/clock.h"

#include <errno.h>
#include <gangway/error.h>
#include <sys/eventfd.h>
#include <unistd.h>

void gw_reader_handoff_init(struct gw_reader_handoff *turn)
{
    *turn = (struct gw_reader_handoff){.bell_fd = -1};
    pthread_mutex_init(&turn->lock, NULL);
    pthread_cond_init(&turn->rests, NULL);
    gw_spin_init(&turn->spin);
}

void gw_reader_handoff_deinit(struct gw_reader_handoff *turn)
{
    if (turn->bell_fd >= 0)
        close(turn->bell_fd);
    pthread_cond_destroy(&turn->rests);
    pthread_mutex_destroy(&turn->lock);
}

/* -- Waiting threads ----------------------------------------------------------------------------
 */

/* Waits until the link can be read or the bell was rung. */
static void wait_at(struct gw_reader_handoff *turn, uint64_t deadline_ns)
{
    struct pollfd fds[] = {{gw_link_fd(turn->link), POLLIN, 0}, {turn->bell_fd, POLLIN, 0}};
    uint64_t now_ns = gw_clock_now_ns(), rung;
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    int rc = gw_spin_poll(&turn->spin, fds, 2, deadline_ns == UINT64_MAX ? UINT64_MAX : left_ns);
    if (rc > 0 && fds[1].revents)
        (void)!read(turn->bell_fd, &rung, sizeof rung);
}

/* Reads messages until one of them has fired the waiter, the deadline has passed, or the loop
 * thread takes the link back. Returns false if reading failed; the loop thread then handles the
 * error. */
static bool read_until(struct gw_reader_handoff *turn, struct gw_waiter *waiter,
                       uint64_t deadline_ns)
{
    struct gw_error error;
    int state, rc = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    while (rc == 0 && atomic_load(&turn->lent) && !gw_waiter_listen(waiter, turn->bell_fd)) {
        wait_at(turn, deadline_ns);
        gw_waiter_listen_no_more(waiter);
        rc = gw_link_read(turn->link, &error);
        if (rc == 0 && gw_clock_now_ns() >= deadline_ns)
            break;
    }
    gw_waiter_listen_no_more(waiter);
    pthread_setcancelstate(state, NULL);
    return rc == 0;
}

/* Wakes the loop thread. The lock is held. */
static void wake_loop(struct gw_reader_handoff *turn)
{
    if (turn->wake)
        (void)uv_async_send(turn->wake);
}

/* Reads messages on the calling thread. The lock is held on entry and on return, but not while
 * reading. */
static void read_in_turn(struct gw_reader_handoff *turn, struct gw_waiter *waiter,
                         uint64_t deadline_ns)
{
    turn->reading = true;
    turn->reads++;
    pthread_mutex_unlock(&turn->lock);
    bool well = read_until(turn, waiter, deadline_ns);
    pthread_mutex_lock(&turn->lock);
    turn->reading = false;
    pthread_cond_broadcast(&turn->rests);
    if (!turn->lent)
        return;
    if (!well || turn->sleepers > 1)
        turn->recalled = true;
    if (turn->recalled || !turn->watched)
        wake_loop(turn);
}

int gw_reader_handoff_wait(struct gw_reader_handoff *turn, struct gw_waiter *waiter,
                           uint64_t timeout_ns, size_t *item)
{
    const uint64_t now_ns = gw_clock_now_ns();
    const uint64_t deadline_ns =
        timeout_ns > UINT64_MAX / 4 - now_ns ? UINT64_MAX : now_ns + timeout_ns;
    if (gw_waiter_has(waiter))
        return gw_waiter_next(waiter, 0, item);
    pthread_mutex_lock(&turn->lock);
    turn->sleepers++;
    if (turn->lent && !turn->reading)
        read_in_turn(turn, waiter, deadline_ns);
    if (!gw_waiter_has(waiter)) {
        turn->waiter = waiter;
        turn->fired_before = gw_waiter_seen(waiter);
        turn->wanted = true;
    }
    pthread_mutex_unlock(&turn->lock);

    uint64_t left_ns = UINT64_MAX;
    if (deadline_ns != UINT64_MAX) {
        const uint64_t then_ns = gw_clock_now_ns();
        left_ns = deadline_ns > then_ns ? deadline_ns - then_ns : 0;
    }
    int rc = gw_waiter_next(waiter, left_ns, item);

    pthread_mutex_lock(&turn->lock);
    if (turn->waiter == waiter)
        turn->waiter = NULL;
    turn->sleepers--;
    pthread_mutex_unlock(&turn->lock);
    return rc;
}

/* Asks the loop thread to take the link back. The lock is held. If a thread is reading, nothing
 * happens here: read_in_turn returns the link when it ends, if other threads wait. */
static void recall(struct gw_reader_handoff *turn)
{
    if (!turn->lent || turn->reading || turn->recalled)
        return;
    turn->recalled = true;
    wake_loop(turn);
}

void gw_reader_handoff_recall(struct gw_reader_handoff *turn)
{
    if (!atomic_load_explicit(&turn->lent, memory_order_relaxed))
        return;
    pthread_mutex_lock(&turn->lock);
    recall(turn);
    pthread_mutex_unlock(&turn->lock);
}

void gw_reader_handoff_suspend(struct gw_reader_handoff *turn)
{
    pthread_mutex_lock(&turn->lock);
    turn->sleepers++;
    recall(turn);
    pthread_mutex_unlock(&turn->lock);
}

void gw_reader_handoff_resume(struct gw_reader_handoff *turn)
{
    pthread_mutex_lock(&turn->lock);
    turn->sleepers--;
    pthread_mutex_unlock(&turn->lock);
}

/* -- The loop thread -----------------------------------------------------------------------------
 */

void gw_reader_handoff_begin(struct gw_reader_handoff *turn, uv_async_t *wake)
{
    pthread_mutex_lock(&turn->lock);
    turn->wake = wake;
    pthread_mutex_unlock(&turn->lock);
}

/* Returns true if the loop thread should pass the connection on to a waiting thread, which then
 * reads from it. It should not if it has done so already, or if another thread sleeps without
 * reading: that thread would sleep until the loop thread reads again. The lock is held. */
static bool is_wanted(const struct gw_reader_handoff *turn)
{
    bool awake = turn->sleepers == 0 || (turn->sleepers == 1 && turn->waiter &&
                                         atomic_load(&turn->waiter->tail) != turn->fired_before);
    return turn->wanted && !turn->lent && awake && turn->bell_fd >= 0;
}

bool gw_reader_handoff_is_wanted(struct gw_reader_handoff *turn)
{
    pthread_mutex_lock(&turn->lock);
    if (turn->bell_fd < 0)
        turn->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool wanted = is_wanted(turn);
    pthread_mutex_unlock(&turn->lock);
    return wanted;
}

bool gw_reader_handoff_lend(struct gw_reader_handoff *turn, struct gw_link *link)
{
    pthread_mutex_lock(&turn->lock);
    bool lent = is_wanted(turn);
    if (lent) {
        turn->link = link;
        turn->wanted = turn->recalled = false;
        turn->watched = true;
        turn->reads++; /* counts as one read, so that the loop thread takes the link back after two
                          idle ticks at the earliest */
        turn->lent = true;
    }
    pthread_mutex_unlock(&turn->lock);
    return lent;
}

enum gw_reader_handoff_state gw_reader_handoff_look(struct gw_reader_handoff *turn, bool timer)
{
    enum gw_reader_handoff_state state = GW_READER_HANDOFF_WATCH;
    pthread_mutex_lock(&turn->lock);
    if (!turn->lent) {
        state = GW_READER_HANDOFF_OURS;
    } else if (turn->reading) {
        /* Stop the timer only if the same read has lasted since the last tick. If every short read
         * stopped the timer, each of them would have to wake the loop thread to start it again. */
        state = timer && turn->reads == turn->reads_seen ? GW_READER_HANDOFF_LEAVE
                                                         : GW_READER_HANDOFF_WATCH;
    } else if (turn->recalled || (timer && turn->reads == turn->reads_seen)) {
        turn->lent = false;
        state = GW_READER_HANDOFF_BACK;
    }
    if (timer)
        turn->reads_seen = turn->reads;
    turn->watched = state == GW_READER_HANDOFF_WATCH;
    pthread_mutex_unlock(&turn->lock);
    return state;
}

void gw_reader_handoff_end(struct gw_reader_handoff *turn)
{
    pthread_mutex_lock(&turn->lock);
    turn->lent = turn->wanted = turn->recalled = false;
    while (turn->reading) {
        (void)!write(turn->bell_fd, &(uint64_t){1}, sizeof(uint64_t));
        pthread_cond_wait(&turn->rests, &turn->lock);
    }
    turn->link = NULL;
    pthread_mutex_unlock(&turn->lock);
}
