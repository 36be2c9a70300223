/* Decides which thread reads the scheduler's messages: the loop thread, or a thread that waits for
 * them.
 *
 * A thread that waits for one message after another reads them itself. Otherwise each message would
 * wake two threads: first the loop thread, then the waiting thread. The loop thread lends the link
 * after it has woken the only waiting thread. It takes the link back if no thread has read for some
 * milliseconds, if other threads wait too, or if it is asked to. The loop thread writes messages in
 * all cases. */
#ifndef GW_CLIENT_READER_HANDOFF_H
#define GW_CLIENT_READER_HANDOFF_H

#include "client/link/waiter.h"
#include "graph/base/spin.h"
#include "graph/wire/link.h"

#include <pthread.h>

struct gw_reader_handoff {
    pthread_mutex_t lock;       /* guards all fields; no other lock is taken while it is held */
    pthread_cond_t rests;       /* signals that `reading` was cleared */
    _Atomic bool lent;          /* the link is lent; written under the lock */
    struct gw_link *link;       /* valid while the link is lent */
    uv_async_t *wake;           /* wakes the loop thread; NULL: the thread ends */
    uint32_t sleepers;          /* number of waiting threads */
    struct gw_waiter *waiter;   /* the last thread that sleeps and does not read */
    size_t fired_before;        /* number of items of `waiter` that it had taken before it slept */
    bool wanted;                /* a thread has slept since the link was taken back */
    bool reading;               /* a waiting thread reads */
    uint64_t reads, reads_seen; /* how often a thread has begun to read, in all and at the last tick
                                   of the timer */
    bool watched;               /* the loop thread's timer is active */
    bool recalled;
    struct gw_spin spin; /* used by the reading thread */
    int bell_fd;         /* eventfd that wakes the reading thread; -1: not made yet */
};

/* gw_reader_handoff_init starts with the loop thread as the reader. Call gw_reader_handoff_deinit
 * when no thread waits any more. */
void gw_reader_handoff_init(struct gw_reader_handoff *turn);
void gw_reader_handoff_deinit(struct gw_reader_handoff *turn);

/* gw_reader_handoff_wait does the same as gw_waiter_next, for messages of the scheduler. If the
 * loop thread has passed the connection on, the calling thread reads from it. */
int gw_reader_handoff_wait(struct gw_reader_handoff *turn, struct gw_waiter *waiter,
                           uint64_t timeout_ns, size_t *item);

/* gw_reader_handoff_recall makes the loop thread take the link back, for a caller that polls
 * without waiting. gw_reader_handoff_suspend makes the loop thread the reader until
 * gw_reader_handoff_resume, for a caller that waits in another way than by gw_reader_handoff_wait.
 * Any thread may call them, with any lock held. */
void gw_reader_handoff_recall(struct gw_reader_handoff *turn);
void gw_reader_handoff_suspend(struct gw_reader_handoff *turn);
void gw_reader_handoff_resume(struct gw_reader_handoff *turn);

/* Functions of the loop thread. gw_reader_handoff_begin sets how it is woken (NULL: it ends).
 * gw_reader_handoff_is_wanted returns true if the link should be lent after the messages that were
 * just delivered. gw_reader_handoff_lend lends the link, which the loop must have stopped reading.
 * It returns false if another thread has begun to sleep meanwhile. */
void gw_reader_handoff_begin(struct gw_reader_handoff *turn, uv_async_t *wake);
bool gw_reader_handoff_is_wanted(struct gw_reader_handoff *turn);
bool gw_reader_handoff_lend(struct gw_reader_handoff *turn, struct gw_link *link);

/* gw_reader_handoff_look decides if the loop thread reads from the connection itself again. The
 * loop thread calls it at each tick of the timer while the link is lent, and when it was woken. */
enum gw_reader_handoff_state {
    GW_READER_HANDOFF_OURS,  /* the link was not lent */
    GW_READER_HANDOFF_BACK,  /* the link is not lent any more: read it again */
    GW_READER_HANDOFF_WATCH, /* check again after some milliseconds */
    GW_READER_HANDOFF_LEAVE, /* a thread reads, and wakes the loop thread when it stops */
};
enum gw_reader_handoff_state gw_reader_handoff_look(struct gw_reader_handoff *turn, bool timer);

/* gw_reader_handoff_end takes the link back for good because it is down. It waits until a reading
 * thread has stopped. */
void gw_reader_handoff_end(struct gw_reader_handoff *turn);

#endif
