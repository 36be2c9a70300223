/* A supervisor for each test of a program. */
#include "tests/unit/worker/supervisor/supervisor_world.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct harness harness;
char supervisor_self[4096];

int set_up(void **state)
{
    harness_open(&harness);
    return 0;
}

int tear_down(void **state)
{
    harness_close(&harness);
    return 0;
}

void start(uint64_t process, const char *const *argv)
{
    harness_spawn(&harness, &(struct harness_spawn){.process = process, .argv = argv});
    struct harness_event event = harness_wait(&harness, GW_MESSAGE_spawned, process);
    if (event.code < 0)
        fail_msg("%s", event.text);
    assert_true(event.pid > 1);
}

struct harness_event wait_exited(uint64_t process)
{
    return harness_wait(&harness, GW_MESSAGE_exited, process);
}

void wait_reaped(uint64_t process)
{
    (void)harness_wait(&harness, GW_MESSAGE_reaped, process);
}

/* A grandchild in a session of its own, whose parents are gone, with an empty environment and
 * SIGTERM ignored. It writes its pid to the fifo, and then the first process exits. */
int supervisor_daemon_main(void)
{
    int fifo = open("pids", O_WRONLY | O_CLOEXEC), fds[2];
    char byte;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return 1;
    if (fork() != 0) {
        close(fds[1]);
        return read(fds[0], &byte, 1) == 0 ? 0 : 1;
    }
    setsid();
    if (fork() != 0)
        return 0;
    clearenv();
    signal(SIGTERM, SIG_IGN);
    dprintf(fifo, "%d\n", (int)getpid());
    execle("/bin/sleep", "sleep", "1000", (char *)NULL, (char *const[]){NULL});
    return 1;
}
