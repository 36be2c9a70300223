/* Waiters: a list of fired items, and a futex (the bell) on which the one waiting thread sleeps.
 *
 * Invariants: a thread that fires holds the client's lock, so only one thread fires at a time.
 * `tail` is written after the item and read before it. A bell may be rung after its waiter was
 * freed: the kernel only uses its address, and a thread that sleeps at the same address by then
 * checks its condition again. */
#include "client/link/waiter.h"

#include "graph/base/clock.h"

#include <errno.h>
#include <gangway/error.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { HELD_MAX = 16 };
enum { AWAKE = 0, AT_BELL, ELSEWHERE };

/* Bells that this thread rings in gw_waiter_ring. */
static _Thread_local struct {
    bool holding;
    unsigned count;
    _Atomic uint32_t *bells[HELD_MAX];
} held;

void gw_waiter_init(struct gw_waiter *waiter, size_t *fired)
{
    atomic_init(&waiter->bell, 0);
    atomic_init(&waiter->sleeping, AWAKE);
    atomic_init(&waiter->tail, 0);
    waiter->fired = fired ? fired : &waiter->one;
    waiter->head = 0;
}

static void ring(_Atomic uint32_t *bell)
{
    (void)syscall(SYS_futex, bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void gw_waiter_fire(struct gw_waiter *waiter, size_t item)
{
    size_t tail = atomic_load_explicit(&waiter->tail, memory_order_relaxed);
    waiter->fired[tail] = item;
    _Atomic uint32_t *bell = &waiter->bell;
    atomic_store(&waiter->tail, tail + 1);
    /* One wake-up is enough for any number of items. The waiter still exists here, because its
     * owner needs the client's lock before it may free the waiter. */
    uint8_t sleeping = atomic_exchange(&waiter->sleeping, AWAKE);
    if (sleeping ==
        ELSEWHERE) /* write at once: while the lock is held, the descriptor is still open */
        (void)!write(atomic_load(&waiter->bell_fd), &(uint64_t){1}, sizeof(uint64_t));
    if (sleeping != AT_BELL)
        return;
    atomic_fetch_add(bell, 1);
    if (held.holding && held.count < HELD_MAX)
        held.bells[held.count++] = bell;
    else
        ring(bell);
}

void gw_waiter_hold(void)
{
    held.holding = true;
}

void gw_waiter_ring(void)
{
    held.holding = false;
    while (held.count > 0)
        ring(held.bells[--held.count]);
}

/* Sleeps until the value of the bell differs from `seen`. Returns ETIMEDOUT at the deadline. */
static int sleep_at(_Atomic uint32_t *bell, uint32_t seen, uint64_t deadline_ns)
{
    struct timespec deadline = {(time_t)(deadline_ns / GW_NS_PER_S),
                                (long)(deadline_ns % GW_NS_PER_S)};
    long rc = syscall(SYS_futex, bell, FUTEX_WAIT_BITSET_PRIVATE, seen,
                      deadline_ns == UINT64_MAX ? NULL : &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
    return rc < 0 ? errno : 0;
}

bool gw_waiter_has(const struct gw_waiter *waiter)
{
    return atomic_load(&waiter->tail) != waiter->head;
}

bool gw_waiter_listen(struct gw_waiter *waiter, int bell_fd)
{
    atomic_store(
        &waiter->bell_fd,
        bell_fd); /* set before `sleeping`, because a firing thread reads it after `sleeping` */
    atomic_store(&waiter->sleeping, ELSEWHERE);
    if (!gw_waiter_has(waiter))
        return false;
    atomic_store(&waiter->sleeping, AWAKE);
    return true;
}

void gw_waiter_listen_no_more(struct gw_waiter *waiter)
{
    atomic_store(&waiter->sleeping, AWAKE);
}

size_t gw_waiter_seen(const struct gw_waiter *waiter)
{
    return waiter->head;
}

int gw_waiter_next(struct gw_waiter *waiter, uint64_t timeout_ns, size_t *item)
{
    uint64_t now_ns = gw_clock_now_ns();
    uint64_t deadline_ns = timeout_ns > UINT64_MAX / 4 - now_ns ? UINT64_MAX : now_ns + timeout_ns;
    int rc = 0;
    while (atomic_load(&waiter->tail) == waiter->head && rc != ETIMEDOUT) {
        uint32_t seen = atomic_load(&waiter->bell);
        atomic_store(&waiter->sleeping, AT_BELL);
        if (atomic_load(&waiter->tail) == waiter->head)
            rc = sleep_at(&waiter->bell, seen, deadline_ns);
        atomic_store(&waiter->sleeping, AWAKE);
    }
    if (atomic_load(&waiter->tail) == waiter->head)
        return GW_ETIMEDOUT;
    *item = waiter->fired[waiter->head++];
    return 0;
}
