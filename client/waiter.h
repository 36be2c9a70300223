/* A waiter: one thread that sleeps until things happen, and a list of what happened, in order.
 *
 * The side that fires never blocks and wakes nobody who does not sleep. Whoever frees a waiter has
 * first made sure that nobody will fire it any more (by the client's lock). */
#ifndef GW_CLIENT_WAITER_H
#define GW_CLIENT_WAITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_waiter {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    size_t *fired; /* room for as many as can ever be fired */
    size_t head, tail;
    size_t one; /* the room of a waiter for a single thing */
    bool sleeping;
};

/* gw_waiter_init makes a waiter whose firings go to `fired` (borrowed, room for all that can ever
 * come), or, with NULL, one for a single firing. */
void gw_waiter_init(struct gw_waiter *waiter, size_t *fired);
void gw_waiter_deinit(struct gw_waiter *waiter);

/* gw_waiter_fire adds an item and wakes the waiter. Any thread; does not block. */
void gw_waiter_fire(struct gw_waiter *waiter, size_t item);

/* gw_waiter_next takes the next item: 0, or GW_ETIMEDOUT after timeout_ns (UINT64_MAX: never). */
int gw_waiter_next(struct gw_waiter *waiter, uint64_t timeout_ns, size_t *item);

#endif
