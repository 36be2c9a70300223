/* Whose turn it is to read from the scheduler: the loop thread's, or lent to whoever waits.
 *
 * A thread that waits for one thing after the other reads them itself: nobody else has to be woken
 * for each, to wake it in its turn. The loop thread lends the link when it has woken the only one
 * who waited, and takes it back when nobody has read for some milliseconds, when others wait, too,
 * or when it is recalled. It goes on writing meanwhile. */
#ifndef GW_CLIENT_READER_HANDOFF_H
#define GW_CLIENT_READER_HANDOFF_H

#include "client/link/waiter.h"
#include "graph/base/spin.h"
#include "graph/wire/link.h"

#include <pthread.h>

struct gw_reader_handoff {
    pthread_mutex_t lock;       /* guards the rest; nothing is locked under it */
    pthread_cond_t rests;       /* `reading` was cleared */
    _Atomic bool lent;          /* written under the lock */
    struct gw_link *link;       /* while it is lent */
    uv_async_t *wake;           /* of the loop thread; NULL: it ends */
    uint32_t sleepers;          /* threads that wait */
    struct gw_waiter *waiter;   /* of the last that sleeps and does not read */
    size_t fired_before;        /* of `waiter` */
    bool wanted;                /* somebody slept since it was taken back */
    bool reading;               /* one of them reads */
    uint64_t reads, reads_seen; /* how often one began to; so far at the last look by the timer */
    bool watched;               /* the loop thread looks from time to time */
    bool recalled;
    struct gw_spin spin; /* of who reads */
    int bell_fd;         /* rung for who reads; -1: there is none yet */
};

/* gw_reader_handoff_init begins with the loop thread's turn; gw_reader_handoff_deinit once nobody
 * waits any more. */
void gw_reader_handoff_init(struct gw_reader_handoff *turn);
void gw_reader_handoff_deinit(struct gw_reader_handoff *turn);

/* gw_reader_handoff_wait is gw_waiter_next for what comes from the scheduler; reads where it is
 * lent. */
int gw_reader_handoff_wait(struct gw_reader_handoff *turn, struct gw_waiter *waiter,
                           uint64_t timeout_ns, size_t *item);

/* gw_reader_handoff_recall has the loop thread take it back, for who looks without waiting.
 * gw_reader_handoff_keep has it stay there until gw_reader_handoff_unkeep, for who waits otherwise
 * than by gw_reader_handoff_wait. Any thread, with any lock. */
void gw_reader_handoff_recall(struct gw_reader_handoff *turn);
void gw_reader_handoff_keep(struct gw_reader_handoff *turn);
void gw_reader_handoff_unkeep(struct gw_reader_handoff *turn);

/* The loop thread's side. gw_reader_handoff_begin says how it is woken (NULL: it ends),
 * gw_reader_handoff_is_wanted whether to lend the link after what it has just delivered.
 * gw_reader_handoff_lend does so, with a link that the loop does not read any more; false where
 * somebody has begun to sleep meanwhile. */
void gw_reader_handoff_begin(struct gw_reader_handoff *turn, uv_async_t *wake);
bool gw_reader_handoff_is_wanted(struct gw_reader_handoff *turn);
bool gw_reader_handoff_lend(struct gw_reader_handoff *turn, struct gw_link *link);

/* gw_reader_handoff_look is called from time to time while it is lent, and when the loop thread was
 * woken. */
enum gw_reader_handoff_state {
    GW_READER_HANDOFF_OURS,  /* it was not lent */
    GW_READER_HANDOFF_BACK,  /* it is not lent any more: read on */
    GW_READER_HANDOFF_WATCH, /* look again after some milliseconds */
    GW_READER_HANDOFF_LEAVE, /* somebody reads, and wakes the loop thread afterwards */
};
enum gw_reader_handoff_state gw_reader_handoff_look(struct gw_reader_handoff *turn, bool timer);

/* gw_reader_handoff_end takes it back for good, from who reads, too: the link is down. */
void gw_reader_handoff_end(struct gw_reader_handoff *turn);

#endif
