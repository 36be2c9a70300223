/* Stacks from gdb; scripts on PATH replace it. */
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "worker/net/parts/debugger.h"

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

/* A process to be inspected that lasts as long as this one; only a signal ends it. */
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

static void debugger_output_is_returned_without_debuginfod(void **state)
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
    assert_true(strncmp(answer.said, ".\n", 2) == 0); /* no debuginfod servers */
    gw_debugger_frames(answer.said, 7, frames, sizeof frames);
    assert_string_equal(frames, "  Thread 1 (LWP 1 \"train\"):\n  #0  read () at io.c:3\n");
}

static void debugger_output_is_truncated_to_the_buffer(void **state)
{
    struct answer answer = {0};
    have_gdb("head -c 3000000 /dev/zero | tr '\\0' x");
    run(60000, false, true, &answer);
    assert_int_equal(answer.times, 1);
    assert_int_equal(strlen(answer.said), sizeof answer.said - 1);
}

static void hanging_debugger_is_killed_after_its_timeout(void **state)
{
    struct answer answer = {0};
    have_gdb("exec sleep 1000");
    run(20, false, true, &answer);
    assert_int_equal(answer.times, 1);
}

/* The child of the debugger holds the pipe open, so it is killed, too. */
static void hanging_debugger_is_killed_with_its_child(void **state)
{
    struct answer answer = {0};
    have_gdb("sleep 1000 & wait");
    run(20, false, true, &answer);
    assert_int_equal(answer.times, 1);
}

static void cancelled_debugger_run_reports_nothing(void **state)
{
    struct answer answer = {0};
    have_gdb("exec sleep 1000");
    run(60000, true, true, &answer);
    assert_int_equal(answer.times, 0);
}

static void missing_debugger_is_reported(void **state)
{
    struct answer answer = {0};
    have_gdb(NULL);
    run(60000, false, false, &answer);
    assert_int_equal(answer.times, 0);
}

static void frames_of_a_rank_are_extracted_from_the_output(void **state)
{
    char frames[GW_DEBUGGER_STACK_BYTES], line[512];
    char said[1024] = "gangway rank 1\n"
                      "warning: nothing\n"
                      "Thread 1 (LWP 1 \"a\"):\n"
                      "#0  one (...) at a.c:1\n"
                      "#1  ?? ()\n"
                      "[Inferior 1 (process 3) detached]\n"
                      "gangway rank 12\n"
                      "Thread 1 (LWP 2 \"b\"):\n"
                      "#0  twelve\x01 (...)\n"
                      "gangway rank 3\n";
    (void)state;
    gw_debugger_frames(said, 1, frames, sizeof frames);
    assert_string_equal(frames,
                        "  Thread 1 (LWP 1 \"a\"):\n  #0  one (...) at a.c:1\n  #1  ?? ()\n");
    gw_debugger_frames(said, 12, frames, sizeof frames);
    assert_string_equal(frames, "  Thread 1 (LWP 2 \"b\"):\n  #0  twelve? (...)\n");
    gw_debugger_frames(said, 12, frames, 32); /* whole lines only */
    assert_string_equal(frames, "  Thread 1 (LWP 2 \"b\"):\n");
    gw_debugger_frames(said, 3, frames, sizeof frames); /* the debugger could not attach to it */
    assert_string_equal(frames, "");
    gw_debugger_frames("", 1, frames, sizeof frames);
    assert_string_equal(frames, "");

    char hash[65] = "", *much = malloc(2 * GW_DEBUGGER_STACK_BYTES);
    assert_non_null(much);
    memset(hash, 'a', 64);
    snprintf(line, sizeof line,
             "gangway rank 3\n#0  f () from /tmp/%s/lib/libx.so\n#1  main () from /tmp/%.63s/y\n",
             hash, hash);
    gw_debugger_frames(line, 3, frames, sizeof frames);
    assert_non_null(strstr(frames, "  #0  f () from lib/libx.so\n  #1  main () from /tmp/aaa"));
    size_t used = (size_t)sprintf(much, "gangway rank 3\n");
    for (int i = 0; used + 64 < 2 * GW_DEBUGGER_STACK_BYTES; i++)
        used += (size_t)sprintf(much + used, "#%d  deep (...)\n", i);
    gw_debugger_frames(much, 3, frames, sizeof frames);
    free(much);
    assert_in_range(strlen(frames), sizeof frames - 64, sizeof frames - 1);
    assert_int_equal(frames[strlen(frames) - 1], '\n');
}

static void brief(const char *frames, const char *wanted)
{
    char text[128];
    gw_debugger_brief(frames, text, sizeof text);
    assert_string_equal(text, wanted);
}

static void brief_stack_skips_library_frames(void **state)
{
    (void)state;
    brief("", "");
    brief("  Thread 1 (LWP 7 \"it\"):\n"
          "  #0  __libc_pause () at ../sysdeps/unix/sysv/linux/pause.c:29\n"
          "  #1  count (...) at ../../tests/restarts.c:107\n"
          "  #2  gw_task_run (...) at ../../worker/runner/task.c:54\n"
          "  #3  execute (...) at ../../worker/runner/runner.c:669\n",
          "count (restarts.c:107)");
    brief("  Thread 1 (LWP 7 \"it\"):\n" /* the second thread is in code of the program */
          "  #0  syscall () from /lib/x86_64-linux-gnu/libc.so.6\n"
          "  #1  ?? ()\n"
          "  Thread 2 (LWP 8 \"it\"):\n"
          "  #0  0x00001 in a::work<int> (this=...) at x.cc:3\n"
          "  #1  run () from /opt/lib/librun.so.1\n  #2  two ()\n  #3  three ()\n  #4  four ()\n",
          "a::work<int> (x.cc:3), run (librun.so.1), two, three");
    brief("  Thread 1 (LWP 7 \"it\"):\n" /* no thread is */
          "  #0  poll () from /lib/libc.so.6\n",
          "poll (libc.so.6)");
    brief("  #0  "
          "a_name_that_is_so_long_that_it_hardly_ever_fits_into_the_room_that_there_is_for_it ()\n"
          "  #1  another_name_that_does_not_fit_beside_the_one_before_it ()\n",
          "a_name_that_is_so_long_that_it_hardly_ever_fits_into_the_room_that_there_is_for_it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(debugger_output_is_returned_without_debuginfod, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(debugger_output_is_truncated_to_the_buffer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(hanging_debugger_is_killed_after_its_timeout, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(hanging_debugger_is_killed_with_its_child, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(cancelled_debugger_run_reports_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_debugger_is_reported, set_up, tear_down),
        cmocka_unit_test(frames_of_a_rank_are_extracted_from_the_output),
        cmocka_unit_test(brief_stack_skips_library_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
