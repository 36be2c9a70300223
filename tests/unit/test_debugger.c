/* Stacks from gdb, with scripts on PATH in its place. */
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "worker/net/debugger.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64], path_before[4096];

static int set_up(void **state)
{
    strcpy(dir, "/tmp/gw-debugger-XXXXXX");
    snprintf(path_before, sizeof path_before, "%s", getenv("PATH"));
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    setenv("PATH", path_before, 1);
    return gw_dir_remove(dir, NULL);
}

/* script NULL: there is no gdb. */
static void have_gdb(const char *script)
{
    char path[128], paths[sizeof path_before + sizeof dir + 1];
    snprintf(paths, sizeof paths, "%s:%s", dir, path_before);
    setenv("PATH", script ? paths : dir, 1);
    if (!script)
        return;
    snprintf(path, sizeof path, "%s/gdb", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
}

struct answer {
    uint32_t times;
    char said[4096];
};

static void on_done(const char *said, void *arg)
{
    struct answer *answer = arg;
    answer->times++;
    snprintf(answer->said, sizeof answer->said, "%s", said);
}

/* A process that lasts as long as this one, to be looked at; nobody but a signal ends it. */
static pid_t look_at(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void run(uint64_t limit_ms, bool cancel, bool starts, struct answer *answer)
{
    uv_loop_t loop;
    pid_t pid = look_at();
    struct gw_debugger_rank rank = {7, pid, false};
    uv_loop_init(&loop);
    struct gw_debugger *debugger =
        gw_debugger_start(&(struct gw_debugger_options){.loop = &loop,
                                                        .ranks = &rank,
                                                        .count = 1,
                                                        .limit_ms = limit_ms,
                                                        .on_done = on_done,
                                                        .arg = answer});
    assert_int_equal(debugger != NULL, starts);
    if (cancel)
        gw_debugger_cancel(debugger);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0); /* its process is gone, too */
    assert_int_equal(uv_loop_close(&loop), 0);
    end(pid);
}

static void test_says(void **state)
{
    struct answer answer = {0};
    char frames[512];
    have_gdb("echo \"$DEBUGINFOD_URLS.\"\n"
             "echo 'gangway rank 7'\n"
             "case \"$*\" in *'attach '[0-9]*) echo 'Thread 1 (LWP 1 \"train\"):';; esac\n"
             "echo '#0  read () at io.c:3'");
    setenv("DEBUGINFOD_URLS", "https://localhost:1", 1);
    run(60000, false, true, &answer);
    unsetenv("DEBUGINFOD_URLS");
    assert_int_equal(answer.times, 1);
    assert_true(strncmp(answer.said, ".\n", 2) == 0); /* no servers */
    gw_debugger_frames(answer.said, 7, frames, sizeof frames);
    assert_string_equal(frames, "  Thread 1 (LWP 1 \"train\"):\n  #0  read () at io.c:3\n");
}

static void test_says_too_much(void **state)
{
    struct answer answer = {0};
    have_gdb("head -c 1000000 /dev/zero | tr '\\0' x");
    run(60000, false, true, &answer);
    assert_int_equal(answer.times, 1);
    assert_int_equal(strlen(answer.said), sizeof answer.said - 1);
}

static void test_hangs(void **state)
{
    struct answer answer = {0};
    have_gdb("exec sleep 1000");
    run(20, false, true, &answer);
    assert_int_equal(answer.times, 1);
}

/* Its child has the pipe, and goes with it. */
static void test_hangs_with_a_child(void **state)
{
    struct answer answer = {0};
    have_gdb("sleep 1000 & wait");
    run(20, false, true, &answer);
    assert_int_equal(answer.times, 1);
}

static void test_cancelled(void **state)
{
    struct answer answer = {0};
    have_gdb("exec sleep 1000");
    run(60000, true, true, &answer);
    assert_int_equal(answer.times, 0);
}

static void test_no_gdb(void **state)
{
    struct answer answer = {0};
    have_gdb(NULL);
    run(60000, false, false, &answer);
    assert_int_equal(answer.times, 0);
}

static void test_frames(void **state)
{
    char frames[4096], said[16384] = "gangway rank 1\n"
                                     "warning: nothing\n"
                                     "Thread 1 (LWP 1 \"a\"):\n"
                                     "#0  one (...) at a.c:1\n"
                                     "#1  ?? ()\n"
                                     "[Inferior 1 (process 3) detached]\n"
                                     "gangway rank 12\n"
                                     "Thread 1 (LWP 2 \"b\"):\n"
                                     "#0  twelve (...)\n"
                                     "gangway rank 3\n";
    gw_debugger_frames(said, 1, frames, sizeof frames);
    assert_string_equal(frames, "  Thread 1 (LWP 1 \"a\"):\n  #0  one (...) at a.c:1\n");
    gw_debugger_frames(said, 12, frames, sizeof frames);
    assert_string_equal(frames, "  Thread 1 (LWP 2 \"b\"):\n  #0  twelve (...)\n");
    gw_debugger_frames(said, 12, frames, 32); /* whole lines only */
    assert_string_equal(frames, "  Thread 1 (LWP 2 \"b\"):\n");
    gw_debugger_frames(said, 3, frames, sizeof frames); /* could not be attached to */
    assert_string_equal(frames, "");
    gw_debugger_frames("", 1, frames, sizeof frames);
    assert_string_equal(frames, "");
    for (int i = 0; i < 100; i++)
        snprintf(said + strlen(said), sizeof said - strlen(said), "#%d  deep (...)\n", i);
    gw_debugger_frames(said, 3, frames, sizeof frames);
    size_t lines = 0;
    for (const char *at = frames; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, GW_DEBUGGER_LINES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_says_too_much, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hangs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hangs_with_a_child, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cancelled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_gdb, set_up, tear_down),
        cmocka_unit_test(test_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
