/* A waiting thread polls first: when, how often, and for how long. The limits are clearly long or
 * short, so no test depends on a clock. */
#include "tests/unit/unit.h"

#include "graph/base/spin.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_NS UINT64_C(1000000000000)

struct pipe {
    int ends[2];
    struct pollfd fd;
};

static struct pipe pipe_new(void)
{
    struct pipe made;
    assert_int_equal(pipe(made.ends), 0);
    made.fd = (struct pollfd){.fd = made.ends[0], .events = POLLIN};
    return made;
}

static void pipe_free(struct pipe *pipe)
{
    close(pipe->ends[0]);
    close(pipe->ends[1]);
}

static void spin_polls_less_often_after_failures(void **state)
{
    struct pipe pipe = pipe_new();
    struct gw_spin spin = {.limit_ns = LONG_NS};
    (void)state;
    assert_int_equal(gw_spin_poll(&spin, &pipe.fd, 1, 1), 0); /* nothing is known: it sleeps */
    assert_true(spin.soon);
    assert_int_equal(spin.skips, 0);
    for (uint32_t skips = 1; skips < 200; skips = 2 * skips + 1) {
        const uint32_t wanted = skips < 63 ? skips : 63;
        assert_int_equal(gw_spin_poll(&spin, &pipe.fd, 1, 1), 0); /* it polls */
        assert_int_equal(spin.skips, wanted);
        for (uint32_t left = wanted; left; left--) {
            assert_int_equal(spin.skip, left);
            assert_int_equal(gw_spin_poll(&spin, &pipe.fd, 1, 1), 0);
        }
    }
    assert_int_equal(write(pipe.ends[1], "x", 1), 1);
    assert_int_equal(gw_spin_poll(&spin, &pipe.fd, 1, UINT64_MAX), 1); /* and succeeds */
    assert_int_equal(pipe.fd.revents, POLLIN);
    assert_int_equal(spin.skip, 0);
    assert_int_equal(spin.skips, 0);
    pipe_free(&pipe);
}

static void spin_stops_after_a_wait_above_its_limit(void **state)
{
    struct pipe pipe = pipe_new();
    struct gw_spin spin = {.limit_ns = 1, .soon = true};
    (void)state;
    assert_int_equal(gw_spin_poll(&spin, &pipe.fd, 1, 1000000), 0); /* polls, then sleeps */
    assert_int_equal(spin.skips, 1);
    assert_false(spin.soon);
    assert_int_equal(gw_spin_poll(&spin, &pipe.fd, 1, 1000000), 0);
    assert_int_equal(spin.skip, 1); /* it did not get that far */
    pipe_free(&pipe);
}

static void spin_limit_of_0_never_polls(void **state)
{
    struct pipe pipe = pipe_new();
    struct gw_spin spin = {0};
    (void)state;
    assert_int_equal(write(pipe.ends[1], "x", 1), 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gw_spin_poll(&spin, &pipe.fd, 1, UINT64_MAX), 1);
        assert_false(spin.soon);
    }
    pipe_free(&pipe);
}

static void spin_returns_the_result_of_poll(void **state)
{
    struct pipe pipe = pipe_new();
    struct gw_spin spin = {.limit_ns = LONG_NS, .soon = true};
    (void)state;
    close(pipe.ends[1]);
    assert_int_equal(gw_spin_poll(&spin, &pipe.fd, 1, UINT64_MAX), 1);
    assert_int_equal(pipe.fd.revents, POLLHUP);
    errno = 0;
    assert_int_equal(gw_spin_poll(&spin, NULL, 1, UINT64_MAX), -1);
    assert_int_equal(errno, EFAULT);
    close(pipe.ends[0]);
}

/* The warning quotes the refused value and states the accepted form. */
static void invalid_spin_limit_prints_a_warning(void **state)
{
    char said[256] = "";
    cpu_set_t cpus;
    struct gw_spin spin;
    struct pipe pipe = pipe_new();
    int saved = dup(STDERR_FILENO);
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    if (CPU_COUNT(&cpus) == 1)
        skip(); /* one CPU: the setting is not read */
    assert_true(saved >= 0 && dup2(pipe.ends[1], STDERR_FILENO) >= 0);
    assert_int_equal(setenv("GANGWAY_SPIN_US", "7", 1), 0);
    gw_spin_init(&spin);
    assert_int_equal(setenv("GANGWAY_SPIN_US", "1ms", 1), 0);
    gw_spin_init(&spin);
    unsetenv("GANGWAY_SPIN_US");
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    close(pipe.ends[1]);
    assert_true(read(pipe.ends[0], said, sizeof said - 1) > 0);
    assert_non_null(strstr(said, "GANGWAY_SPIN_US is \"1ms\": give 0 to 10000 microseconds"));
    assert_null(strstr(said, "\"7\""));
    close(pipe.ends[0]);
}

static void spin_limit_is_read_from_the_environment(void **state)
{
    static const struct {
        const char *text;
        uint64_t limit_ns;
    } cases[] = {{NULL, 100000}, {"", 100000},        {"0", 0},
                 {"7", 7000},    {"10000", 10000000}, {"10001", 100000},
                 {"-1", 100000}, {"5us", 100000},     {"x", 100000}};
    cpu_set_t before, one;
    struct gw_spin spin;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    const bool many = CPU_COUNT(&before) > 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].text)
            assert_int_equal(setenv("GANGWAY_SPIN_US", cases[i].text, 1), 0);
        else
            unsetenv("GANGWAY_SPIN_US");
        gw_spin_init(&spin);
        assert_int_equal(spin.limit_ns, many ? cases[i].limit_ns : 0);
    }
    unsetenv("GANGWAY_SPIN_US");
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    gw_spin_init(&spin); /* with one CPU, no other thread could run meanwhile */
    assert_int_equal(spin.limit_ns, 0);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spin_polls_less_often_after_failures),
        cmocka_unit_test(spin_stops_after_a_wait_above_its_limit),
        cmocka_unit_test(spin_limit_of_0_never_polls),
        cmocka_unit_test(spin_returns_the_result_of_poll),
        cmocka_unit_test(spin_limit_is_read_from_the_environment),
        cmocka_unit_test(invalid_spin_limit_prints_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
