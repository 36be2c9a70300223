/* Processes that are queued behind another process. */
#include "tests/unit/unit.h"

#include "graph/base/clock.h"
#include "graph/wire/enums.h"
#include "tests/unit/worker/supervisor/supervisor_world.h"
#include "worker/supervisor/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void spawn_two(const char *const *first, const char *const *second)
{
    harness_spawn(&harness, &(struct harness_spawn){.process = 1, .argv = first, .more = true});
    harness_spawn(&harness, &(struct harness_spawn){.process = 2, .argv = second, .behind = 1});
}

static void queued_process_starts_if_its_predecessor_cannot(void **state)
{
    spawn_two(ARGV("/nowhere/program"), SHELL("exit 3"));
    assert_int_equal(harness_wait(&harness, GW_MESSAGE_spawned, 1).code, GW_ENOENT);
    assert_int_equal(wait_exited(2).exit_code, 3);
    wait_reaped(2);
}

/* It starts within 4 ms of the first process's start, or is returned; that depends on how busy
 * the machine is. */
static void queued_process_starts_after_its_predecessor_is_reaped(void **state)
{
    spawn_two(HELPER("daemon", "exit 0"), SHELL("exit 3"));
    pid_t pid = harness_pid(&harness);
    assert_int_equal(wait_exited(1).exit_code, 0);
    wait_reaped(1);
    assert_true(harness_is_gone(pid));
    struct harness_event event = harness_wait(&harness, GW_MESSAGE_spawned, 2);
    assert_true(event.code == 0 || event.code == GW_EAGAIN);
    if (event.code == 0) {
        assert_int_equal(wait_exited(2).exit_code, 3);
        wait_reaped(2);
    }
    assert_int_equal(harness.events.count, 1); /* spawned 1 */
}

static void process_queued_too_long_is_returned(void **state)
{
    spawn_two(SHELL("echo $$ > pids; sleep 1000"), ARGV("/bin/true"));
    (void)harness_pid(&harness);
    assert_int_equal(harness_wait(&harness, GW_MESSAGE_spawned, 2).code, GW_EAGAIN);
    harness_spawn(&harness, /* it has been running for long */
                  &(struct harness_spawn){.process = 3, .argv = ARGV("/bin/true"), .behind = 1});
    assert_int_equal(harness_wait(&harness, GW_MESSAGE_spawned, 3).code, GW_EAGAIN);
    harness_spawn(&harness,
                  &(struct harness_spawn){.process = 4, .argv = ARGV("/bin/true"), .behind = 9});
    assert_int_equal(harness_wait(&harness, GW_MESSAGE_spawned, 4).code, GW_EAGAIN);
    start(2, ARGV("/bin/true")); /* in the normal way */
    wait_reaped(2);
    harness_reap(&harness, 1, 0);
    wait_reaped(1);
}

static void queued_process_can_be_ended_unstarted(void **state)
{
    spawn_two(SHELL("echo $$ > pids; sleep 1000"), SHELL("echo begun > pids"));
    harness_reap(&harness, 2, 0);
    struct harness_event event = harness_wait(&harness, GW_MESSAGE_spawned, 2);
    assert_true(event.code == GW_ECANCELLED || event.code == GW_EAGAIN);
    (void)harness_pid(&harness);
    harness_reap(&harness, 1, 0);
    wait_reaped(1);
}

static void queued_process_is_returned_if_the_reaper_dies(void **state)
{
    spawn_two(SHELL("kill -KILL $PPID; sleep 1000"), ARGV("/bin/true"));
    assert_int_equal(harness_wait(&harness, GW_MESSAGE_spawned, 2).code, GW_EAGAIN);
    assert_int_equal(wait_exited(1).signal, SIGKILL);
    wait_reaped(1);
    start(2, ARGV("/bin/true"));
    wait_reaped(2);
}

enum { LINE = 8 };

/* A process of the queue kills the reaper: the reports of the processes before it arrive, although
 * nobody read when they were sent. LINE: no process kills it. Which processes are returned depends
 * on how busy the machine is. */
static void line_with_killer(uint64_t first, unsigned killer)
{
    for (unsigned i = 0; i < LINE; i++)
        harness_spawn(&harness, &(struct harness_spawn){
                                    .process = first + i,
                                    .argv = i == killer ? SHELL("kill -KILL $PPID; sleep 1000")
                                                        : ARGV("/bin/true"),
                                    .behind = i ? first + i - 1 : 0,
                                    .more = i < LINE - 1});
    for (unsigned i = 0; i < LINE; i++) {
        if (i == killer)
            continue;
        struct harness_event event = harness_wait(&harness, GW_MESSAGE_spawned, first + i);
        assert_true(event.code == 0 || event.code == GW_EAGAIN);
        if (event.code == 0) {
            assert_int_equal(wait_exited(first + i).signal, 0);
            wait_reaped(first + i);
        }
    }
}

static void queue_reports_every_process_if_a_reaper_is_killed(void **state)
{
    for (unsigned killer = 1; killer <= LINE; killer++)
        line_with_killer(1 + killer * LINE, killer);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "supervisor") == 0)
        return gw_supervisor_main(argc - 1, argv + 1);
    if (argc == 2 && strcmp(argv[1], "daemon") == 0)
        return supervisor_daemon_main();
    if (readlink("/proc/self/exe", supervisor_self, sizeof supervisor_self - 1) < 0)
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(queue_reports_every_process_if_a_reaper_is_killed),
        TEST(queued_process_starts_if_its_predecessor_cannot),
        TEST(queued_process_starts_after_its_predecessor_is_reaped),
        TEST(process_queued_too_long_is_returned),
        TEST(queued_process_can_be_ended_unstarted),
        TEST(queued_process_is_returned_if_the_reaper_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
