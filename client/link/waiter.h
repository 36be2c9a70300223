/* A waiter: one thread sleeps until items are fired, and a list holds the fired items in order.
 *
 * The firing thread does not block, and makes a system call only if the waiting thread sleeps. It
 * fires under the client's lock. Before a waiter is freed, its owner makes sure under that lock
 * that no thread fires it any more. A waiter needs no deinit. */
#ifndef GW_CLIENT_WAITER_H
#define GW_CLIENT_WAITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_waiter {
    _Atomic uint32_t bell; /* counts how often the bell was rung */
    _Atomic uint8_t
        sleeping;        /* the thread sleeps at the bell, or at `bell_fd` (see gw_waiter_listen) */
    _Atomic int bell_fd; /* eventfd that wakes the thread */
    size_t *fired;       /* the fired items; room for all that can ever be fired */
    size_t head;         /* index of the next item; used only by the waiting thread */
    atomic_size_t tail;
    size_t one; /* storage for `fired` of a waiter for a single item */
};

/* gw_waiter_init makes a waiter. `fired` is an array (borrowed) with room for all items that can
 * ever be fired, or NULL for a waiter with a single item. */
void gw_waiter_init(struct gw_waiter *waiter, size_t *fired);

/* gw_waiter_fire adds an item and wakes the waiting thread. The client's lock is held. It does not
 * block. */
void gw_waiter_fire(struct gw_waiter *waiter, size_t item);

/* gw_waiter_hold delays the wake-ups of all firings by this thread until gw_waiter_ring, which is
 * called after the client's lock was released. Otherwise a woken thread would first wait for that
 * lock. */
void gw_waiter_hold(void);
void gw_waiter_ring(void);

/* gw_waiter_listen announces that the waiting thread sleeps until the eventfd `bell_fd` is written.
 * If an item was already fired, it returns true, and the thread must not sleep.
 * gw_waiter_listen_no_more ends this. gw_waiter_has returns true if an item was fired and not
 * taken. gw_waiter_seen returns the number of items taken. Only the waiting thread calls these
 * functions. */
bool gw_waiter_has(const struct gw_waiter *waiter);
bool gw_waiter_listen(struct gw_waiter *waiter, int bell_fd);
void gw_waiter_listen_no_more(struct gw_waiter *waiter);
size_t gw_waiter_seen(const struct gw_waiter *waiter);

/* gw_waiter_next takes the next item. Returns 0, or GW_ETIMEDOUT after timeout_ns (UINT64_MAX: no
 * timeout). */
int gw_waiter_next(struct gw_waiter *waiter, uint64_t timeout_ns, size_t *item);

#endif
