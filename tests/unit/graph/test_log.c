/* Log rotation: how much is retained, in which order, and which files are not rotated. */
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "graph/base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT = 4096, LINES = 300, TEXT_BYTES = 1 << 16 };

static char dir[64], path[96], old_path[96];
static int saved;

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/gw-log-XXXXXX");
    saved = dup(STDERR_FILENO);
    if (!mkdtemp(dir) || saved < 0)
        return -1;
    (void)snprintf(path, sizeof path, "%s/x.log", dir);
    (void)snprintf(old_path, sizeof old_path, "%s/x.log.1", dir);
    gw_log_init("tester", GW_LOG_INFO);
    gw_log_limit(LIMIT);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)dup2(saved, STDERR_FILENO);
    close(saved);
    gw_log_limit(UINT64_MAX);
    return gw_dir_remove(dir, NULL);
}

static void log_to(const char *to, int flags)
{
    int fd = open(to, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600);
    assert_true(fd >= 0);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    close(fd);
}

static void log_lines(int from, int count)
{
    for (int i = from; i < from + count; i++)
        gw_log_info("line %d", i);
}

/* The content of a file as a text; returns its size. */
static size_t content(const char *of, char *text)
{
    FILE *file = fopen(of, "re");
    assert_non_null(file);
    size_t bytes = fread(text, 1, TEXT_BYTES - 1, file);
    (void)fclose(file);
    text[bytes] = '\0';
    return bytes;
}

/* All lines are complete and consecutive; returns the number after the last. */
static int lines_follow(const char *text, int next)
{
    for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
        int number = -1;
        assert_non_null(strchr(at, '\n'));
        assert_int_equal(sscanf(at, "%*s tester info: line %d\n", &number), 1);
        assert_true(next < 0 || number == next);
        next = number + 1;
    }
    return next;
}

static void full_log_file_is_rotated(void **state)
{
    char *text = malloc(TEXT_BYTES);
    struct stat stats;
    (void)state;
    assert_non_null(text);
    log_to(path, O_APPEND);
    for (int i = 0; i < LINES; i++) {
        log_lines(i, 1);
        assert_int_equal(stat(path, &stats), 0);
        assert_true(stats.st_size < LIMIT);
    }
    assert_in_range(content(old_path, text), LIMIT,
                    LIMIT + 100); /* complete, except for one line */
    int next = lines_follow(text, -1);
    (void)content(path, text);
    assert_int_equal(lines_follow(text, next), LINES);
    free(text);
}

/* A process that has the log open continues in the new file. */
static void other_writers_continue_in_the_new_log_file(void **state)
{
    char *text = malloc(TEXT_BYTES);
    (void)state;
    assert_non_null(text);
    log_to(path, O_APPEND);
    int other = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    log_lines(0, LINES / 2);
    assert_int_equal(write(other, "other\n", 6), 6);
    (void)content(path, text);
    assert_non_null(strstr(text, "other\n"));
    assert_null(memchr(text, 0, strstr(text, "other\n") - text)); /* no hole */
    close(other);
    free(text);
}

static char printed[256];

static void print(enum gw_log_level level, const char *text, void *arg)
{
    (void)snprintf(printed + strlen(printed), sizeof printed - strlen(printed), "%s%d:%s;",
                   (const char *)arg, (int)level, text);
}

static void callback_gets_messages_in_place_of_stderr(void **state)
{
    char *text = malloc(TEXT_BYTES);
    (void)state;
    assert_non_null(text);
    log_to(path, O_APPEND | O_TRUNC);
    *printed = 0;
    gw_log_set(print, "a");
    gw_log_warn("line %d", 1);
    gw_log_debug("below the level");
    gw_log_plain(GW_LOG_ERROR, "gangway: ", "line %d", 2);
    gw_log_set(print, "b");
    gw_log_info("%s", "line 3");
    assert_string_equal(printed, "a1:line 1;a0:line 2;b2:line 3;");
    assert_int_equal(content(path, text), 0);
    gw_log_set(NULL, NULL);
    gw_log_plain(GW_LOG_WARN, "warning: ", "line %d", 4);
    assert_true(content(path, text) > 0);
    assert_string_equal(text, "warning: line 4\n");
    gw_log_warn("line 5");
    (void)content(path, text);
    assert_non_null(strstr(text, " tester warn: line 5\n"));
    assert_string_equal(printed, "a1:line 1;a0:line 2;b2:line 3;");
    free(text);
}

/* Says that it runs, and ends when the other end of a pipe is closed. */
struct held {
    int runs[2], go_on[2];
};

static void print_held(enum gw_log_level level, const char *text, void *arg)
{
    const struct held *held = arg;
    char byte = 'x';
    (void)level;
    if (strcmp(text, "held") == 0 && write(held->runs[1], &byte, 1) == 1)
        (void)read(held->go_on[0], &byte, 1);
}

static void *log_held(void *arg)
{
    (void)arg;
    gw_log_warn("held");
    return NULL;
}

static void child_forked_during_a_callback_can_log(void **state)
{
    struct held held;
    pthread_t thread;
    char byte;
    int status;
    (void)state;
    assert_int_equal(pipe(held.runs), 0);
    assert_int_equal(pipe(held.go_on), 0);
    gw_log_set(print_held, &held);
    assert_int_equal(pthread_create(&thread, NULL, log_held, NULL), 0);
    assert_int_equal(read(held.runs[0], &byte, 1), 1);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        gw_log_warn("in the child");
        gw_log_set(NULL, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(held.go_on[1]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    gw_log_set(NULL, NULL);
    close(held.go_on[0]);
    close(held.runs[0]);
    close(held.runs[1]);
}

static void log_is_truncated_if_rotation_fails(void **state)
{
    struct stat stats;
    (void)state;
    log_to(path, O_APPEND);
    assert_int_equal(mkdir(old_path, 0700), 0);
    log_lines(0, LINES);
    assert_int_equal(stat(path, &stats), 0);
    assert_true(stats.st_size < LIMIT);
}

static void log_without_append_mode_is_not_rotated(void **state)
{
    char *text = malloc(TEXT_BYTES);
    (void)state;
    assert_non_null(text);
    log_to(path, 0);
    log_lines(0, LINES);
    assert_true(content(path, text) > LIMIT);
    assert_int_equal(lines_follow(text, 0), LINES);
    log_to(path, O_APPEND | O_TRUNC);
    assert_int_equal(unlink(path), 0); /* of a cluster that has ended */
    log_lines(0, LINES);
    assert_int_equal(rmdir(dir), 0); /* no file was left in it */
    assert_int_equal(mkdir(dir, 0700), 0);
    free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(full_log_file_is_rotated),
        TEST(other_writers_continue_in_the_new_log_file),
        TEST(callback_gets_messages_in_place_of_stderr),
        TEST(child_forked_during_a_callback_can_log),
        TEST(log_is_truncated_if_rotation_fails),
        TEST(log_without_append_mode_is_not_rotated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
