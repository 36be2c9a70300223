/* Adaptive polling. With limit_ns 0 no wait counts as short, so the thread never polls. */
#include "graph/base/spin.h"

#include "graph/base/clock.h"
#include "graph/base/log.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_US 100 /* longer polling would take the CPUs of a small machine from the daemons */
#define LIMIT_US_MAX 10000
enum {
    SHORT_OVER_LIMIT = 2, /* a wait counts as short up to this many times limit_ns, because waking a
                             sleeping thread takes time */
    SKIP_MAX = 63,
};

static uint64_t asked_us(void)
{
    const char *text = getenv("GANGWAY_SPIN_US");
    char *end;
    if (!text || !*text)
        return LIMIT_US;
    unsigned long long us = strtoull(text, &end, 10);
    if (!*end && us <= LIMIT_US_MAX)
        return us;
    gw_log_warn("GANGWAY_SPIN_US is \"%s\": give 0 to %d microseconds; using %d", text,
                LIMIT_US_MAX, LIMIT_US);
    return LIMIT_US;
}

void gw_spin_init(struct gw_spin *spin)
{
    cpu_set_t cpus;
    bool alone = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) == 1;
    *spin = (struct gw_spin){.limit_ns = alone ? 0 : asked_us() * GW_NS_PER_US};
}

static int poll_for(struct pollfd *fds, nfds_t count, uint64_t ns)
{
    struct timespec left = {(time_t)(ns / GW_NS_PER_S), (long)(ns % GW_NS_PER_S)};
    return (int)syscall(SYS_ppoll, fds, count, ns == UINT64_MAX ? NULL : &left, NULL, 0);
}

static int look(struct pollfd *fds, nfds_t count, uint64_t until_ns)
{
    do {
        int rc = poll_for(fds, count, 0);
        if (rc != 0)
            return rc;
        (void)sched_yield();
    } while (gw_clock_now_ns() < until_ns);
    return 0;
}

static bool looks(struct gw_spin *spin)
{
    if (!spin->soon)
        return false;
    if (spin->skip) {
        spin->skip--;
        return false;
    }
    return true;
}

/* Adjusts the number of short waits without polling. Each unsuccessful polling about doubles it. */
static void learn(struct gw_spin *spin, bool looked, bool found, uint64_t waited_ns)
{
    spin->soon = waited_ns < SHORT_OVER_LIMIT * spin->limit_ns;
    if (!looked)
        return;
    if (found)
        spin->skips = 0;
    else if (spin->skips < SKIP_MAX)
        spin->skips = 2 * spin->skips + 1;
    spin->skip = spin->skips;
}

int gw_spin_poll(struct gw_spin *spin, struct pollfd *fds, nfds_t count, uint64_t timeout_ns)
{
    const uint64_t begin_ns = gw_clock_now_ns();
    const bool looked = looks(spin);
    int rc = 0;
    if (looked)
        rc = look(fds, count,
                  begin_ns + (timeout_ns < spin->limit_ns ? timeout_ns : spin->limit_ns));
    const bool found = rc != 0;
    if (!found) {
        const uint64_t gone_ns = looked ? gw_clock_now_ns() - begin_ns : 0;
        const uint64_t left_ns = gone_ns < timeout_ns ? timeout_ns - gone_ns : 0;
        rc = poll_for(fds, count, timeout_ns == UINT64_MAX ? UINT64_MAX : left_ns);
    }
    learn(spin, looked, found, gw_clock_now_ns() - begin_ns);
    return rc;
}
