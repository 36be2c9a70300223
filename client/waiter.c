/* Waiters: a list of fired items under a mutex, and a condition variable on the monotonic clock. */
#include "client/waiter.h"

#include "graph/base/clock.h"

#include <errno.h>
#include <gangway/error.h>
#include <time.h>

void gw_waiter_init(struct gw_waiter *waiter, size_t *fired)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&waiter->cond, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&waiter->lock, NULL);
    waiter->fired = fired ? fired : &waiter->one;
    waiter->head = waiter->tail = 0;
    waiter->sleeping = false;
}

void gw_waiter_deinit(struct gw_waiter *waiter)
{
    pthread_cond_destroy(&waiter->cond);
    pthread_mutex_destroy(&waiter->lock);
}

void gw_waiter_fire(struct gw_waiter *waiter, size_t item)
{
    pthread_mutex_lock(&waiter->lock);
    waiter->fired[waiter->tail++] = item;
    bool wake = waiter->sleeping;
    waiter->sleeping = false; /* one wake-up is enough for any number of firings */
    if (wake)
        pthread_cond_signal(&waiter->cond);
    pthread_mutex_unlock(&waiter->lock);
}

int gw_waiter_next(struct gw_waiter *waiter, uint64_t timeout_ns, size_t *item)
{
    uint64_t now_ns = gw_clock_now_ns();
    uint64_t deadline_ns = timeout_ns > UINT64_MAX / 4 - now_ns ? UINT64_MAX : now_ns + timeout_ns;
    struct timespec deadline = {(time_t)(deadline_ns / GW_NS_PER_S),
                                (long)(deadline_ns % GW_NS_PER_S)};
    int rc = 0;

    pthread_mutex_lock(&waiter->lock);
    while (waiter->head == waiter->tail && rc != ETIMEDOUT) {
        waiter->sleeping = true;
        rc = deadline_ns == UINT64_MAX
                 ? pthread_cond_wait(&waiter->cond, &waiter->lock)
                 : pthread_cond_timedwait(&waiter->cond, &waiter->lock, &deadline);
    }
    waiter->sleeping = false;
    rc = waiter->head == waiter->tail ? GW_ETIMEDOUT : 0;
    if (rc == 0)
        *item = waiter->fired[waiter->head++];
    pthread_mutex_unlock(&waiter->lock);
    return rc;
}
