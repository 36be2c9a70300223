/* Whose turn it is to read from the scheduler: the loop thread's, or lent to whoever waits.
 *
 * A thread that waits for one thing after the other reads them itself: nobody else has to be woken
 * for each, to wake it in its turn. The loop thread lends the link when it has woken the only one
 * who waited, and takes it back when nobody has read for some milliseconds, when others wait, too,
 * or when it is recalled. It goes on writing meanwhile. */
#ifndef GW_CLIENT_TURN_H
#define GW_CLIENT_TURN_H

#include "client/waiter.h"
#include "graph/base/spin.h"
#include "graph/wire/link.h"

#include <pthread.h>

struct gw_turn {
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

/* gw_turn_init begins with the loop thread's turn; gw_turn_deinit once nobody waits any more. */
void gw_turn_init(struct gw_turn *turn);
void gw_turn_deinit(struct gw_turn *turn);

/* gw_turn_wait is gw_waiter_next for what comes from the scheduler; reads where it is lent. */
int gw_turn_wait(struct gw_turn *turn, struct gw_waiter *waiter, uint64_t timeout_ns, size_t *item);

/* gw_turn_recall has the loop thread take it back, for who looks without waiting. gw_turn_keep has
 * it stay there until gw_turn_unkeep, for who waits otherwise than by gw_turn_wait. Any thread,
 * with any lock. */
void gw_turn_recall(struct gw_turn *turn);
void gw_turn_keep(struct gw_turn *turn);
void gw_turn_unkeep(struct gw_turn *turn);

/* The loop thread's side. gw_turn_begin says how it is woken (NULL: it ends), gw_turn_is_wanted
 * whether to lend the link after what it has just delivered. gw_turn_lend does so, with a link that
 * the loop does not read any more; false where somebody has begun to sleep meanwhile. */
void gw_turn_begin(struct gw_turn *turn, uv_async_t *wake);
bool gw_turn_is_wanted(struct gw_turn *turn);
bool gw_turn_lend(struct gw_turn *turn, struct gw_link *link);

/* gw_turn_look is called from time to time while it is lent, and when the loop thread was woken. */
enum gw_turn_state {
    GW_TURN_OURS,  /* it was not lent */
    GW_TURN_BACK,  /* it is not lent any more: read on */
    GW_TURN_WATCH, /* look again after some milliseconds */
    GW_TURN_LEAVE, /* somebody reads, and wakes the loop thread afterwards */
};
enum gw_turn_state gw_turn_look(struct gw_turn *turn, bool timer);

/* gw_turn_end takes it back for good, from who reads, too: the link is down. */
void gw_turn_end(struct gw_turn *turn);

#endif
