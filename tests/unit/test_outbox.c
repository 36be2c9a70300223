/* How a runner waits for its worker: behind a short wait it looks for the next message for a
 * moment, and no longer; behind a long one it sleeps at once. */
#include "tests/unit/unit.h"

#include "graph/base/clock.h"
#include "worker/runner/outbox.h"

#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LONG_WAIT_NS (20 * GW_NS_PER_MS)
#define CPU_MAX_NS (10 * GW_NS_PER_MS)

/* The worker's end, which speaks at a moment of the clock. */
struct side {
    struct gw_channel *channel;
    uint64_t at_ns;
};

static void speak(struct side *side)
{
    const struct gw_message message = {.type = GW_MESSAGE_forget, .forget = {.job = 1}};
    assert_int_equal(gw_channel_put(side->channel, &message, (struct gw_channel_fds){0}), 0);
    assert_int_equal(gw_channel_flush(side->channel), 0);
}

static void *side_main(void *arg)
{
    struct side *side = arg;
    while (gw_clock_now_ns() < side->at_ns)
        (void)sched_yield();
    speak(side);
    return NULL;
}

static void listen_to(struct gw_outbox *outbox)
{
    struct gw_message message;
    struct gw_error error;
    uint8_t fd_count;
    int fds[64];
    assert_int_equal(gw_outbox_get(outbox, true, &message, fds, &fd_count, &error), 0);
    assert_int_equal(message.type, GW_MESSAGE_forget);
}

static uint64_t cpu_ns(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
    return (uint64_t)time.tv_sec * GW_NS_PER_S + (uint64_t)time.tv_nsec;
}

static void test_lingers(void **state)
{
    static struct gw_outbox outbox; /* as long as the process */
    struct side side;
    pthread_t thread;
    int pair[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(gw_outbox_init(&outbox, pair[0]), 0);
    assert_int_equal(gw_channel_new(pair[1], &side.channel), 0);
    outbox.may_linger = true; /* also where this machine has one processor */
    assert_false(outbox.lingers);

    /* Several tries each: on a loaded machine a moment may be long, and a wait begin late. */
    for (int tries = 0; tries < 100 && !outbox.lingers; tries++) {
        speak(&side);
        listen_to(&outbox);
    }
    assert_true(outbox.lingers);

    for (int tries = 0; tries < 100 && outbox.lingers; tries++) {
        side.at_ns = gw_clock_now_ns() + LONG_WAIT_NS;
        assert_int_equal(pthread_create(&thread, NULL, side_main, &side), 0);
        uint64_t before_ns = cpu_ns();
        listen_to(&outbox);
        assert_true(cpu_ns() - before_ns < CPU_MAX_NS);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_false(outbox.lingers);

    outbox.may_linger = false;
    speak(&side);
    listen_to(&outbox);
    assert_false(outbox.lingers);
    gw_channel_free(side.channel);
    gw_channel_free(outbox.channel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lingers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
