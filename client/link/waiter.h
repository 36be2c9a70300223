/* A waiter: one thread that sleeps until things happen, and a list of what happened, in order.
 *
 * The side that fires never blocks and wakes nobody who does not sleep. It fires under the client's
 * lock; whoever frees a waiter has first made sure, by that lock, that nobody will fire it any
 * more. Nothing has to be given back. */
#ifndef GW_CLIENT_WAITER_H
#define GW_CLIENT_WAITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_waiter {
    _Atomic uint32_t bell;    /* counts the times that it was rung */
    _Atomic uint8_t sleeping; /* at the bell, or (see gw_waiter_listen) elsewhere */
    _Atomic int bell_fd;      /* to be rung there */
    size_t *fired;            /* room for as many as can ever be fired */
    size_t head;              /* the waiting thread's */
    atomic_size_t tail;
    size_t one; /* the room of a waiter for a single thing */
};

/* gw_waiter_init makes a waiter whose firings go to `fired` (borrowed, room for all that can ever
 * come), or, with NULL, one for a single firing. */
void gw_waiter_init(struct gw_waiter *waiter, size_t *fired);

/* gw_waiter_fire adds an item and wakes the waiter. Under the client's lock; does not block. */
void gw_waiter_fire(struct gw_waiter *waiter, size_t item);

/* gw_waiter_hold has the wake-ups of this thread's firings wait for gw_waiter_ring, which comes
 * after the lock is given back: who wakes would only wait for that. */
void gw_waiter_hold(void);
void gw_waiter_ring(void);

/* gw_waiter_listen says that its thread sleeps until a descriptor, an eventfd, is written to: true,
 * and not so, where something was fired already. gw_waiter_listen_no_more takes it back.
 * gw_waiter_has tells whether something was fired and not taken, gw_waiter_seen counts what was
 * taken. All of them on its thread. */
bool gw_waiter_has(const struct gw_waiter *waiter);
bool gw_waiter_listen(struct gw_waiter *waiter, int bell_fd);
void gw_waiter_listen_no_more(struct gw_waiter *waiter);
size_t gw_waiter_seen(const struct gw_waiter *waiter);

/* gw_waiter_next takes the next item: 0, or GW_ETIMEDOUT after timeout_ns (UINT64_MAX: never). */
int gw_waiter_next(struct gw_waiter *waiter, uint64_t timeout_ns, size_t *item);

#endif
