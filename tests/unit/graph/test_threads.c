/* The threads of a loop's pool, in a process that may start no more threads. */
#include "tests/unit/unit.h"

#include "graph/wire/threads.h"

#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY_ELSE = 2000000000 }; /* root is not limited, so the test uses an unused user id */

static bool limit_threads(void)
{
    const struct rlimit one = {1, 1};
    return setrlimit(RLIMIT_NPROC, &one) == 0 && (getuid() != 0 || setuid(NOBODY_ELSE) == 0);
}

static void work_on_thread(uv_work_t *work)
{
    *(bool *)work->data = true;
}

/* Runs it in a process of its own, which exits with 0 on success. */
static void assert_well(int (*body)(void))
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(body());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int refused(void)
{
    struct gw_error error = {0};
    if (!limit_threads())
        return 2;
    return gw_threads_try(&error) != GW_ELIMIT || !strstr(error.text, "cannot start 4 threads");
}

static void thread_creation_failure_is_reported(void **state)
{
    (void)state;
    assert_well(refused);
}

static int works(void)
{
    struct gw_error error;
    uv_loop_t loop;
    bool worked = false;
    uv_work_t work = {.data = &worked};
    if (uv_loop_init(&loop) < 0 || gw_threads_try(&error) < 0)
        return 2;
    gw_threads_start(&loop);
    if (!limit_threads() || uv_queue_work(&loop, &work, work_on_thread, NULL) < 0)
        return 3;
    uv_run(&loop, UV_RUN_DEFAULT);
    return worked ? 0 : 4;
}

static void pool_works_with_fewer_threads_than_wanted(void **state)
{
    (void)state;
    assert_well(works);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thread_creation_failure_is_reported),
        cmocka_unit_test(pool_works_with_fewer_threads_than_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
