/* A runner whose tasks close their output streams or redirect them. */
#include "tests/unit/unit.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/wire/enums.h"
#include "tests/unit/printed.h"
#include "tests/unit/worker/runner/runner_harness.h"
#include "worker/runner/output.h"

#include <fcntl.h>
#include <gangway/task.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends with the streams closed (0, 1), redirected to a file (2, 3), or both, as FILEs (4, 5). */
static int spoil_streams(struct gw_task *task)
{
    int64_t how;
    if (gw_task_arg_i64(task, 0, &how) < 0)
        return GW_EINVAL;
    int fd = how % 2 ? STDERR_FILENO : STDOUT_FILENO;
    fprintf(how % 2 ? stderr : stdout, "before %d\n", (int)how);
    int other = open("other", O_RDWR | O_CREAT | O_APPEND, 0600);
    if (how < 2)
        close(fd);
    else if (how < 4)
        dup2(other, fd);
    else
        fclose(how % 2 ? stderr : stdout);
    if (how >= 2 && how < 4)
        dprintf(fd, "mine\n");
    close(other);
    return 0;
}
GW_TASK(spoil_streams);

static int print(struct gw_task *task)
{
    printf("after\n");
    fprintf(stderr, "error of %u\n", gw_task_index(task));
    return 0;
}
GW_TASK(print);

enum { LARGE_BYTES = 5000 };

/* Closes a stream before it returns a large result, and prints. */
static int close_early(struct gw_task *task)
{
    static const char data[LARGE_BYTES] = "large";
    int64_t stream;
    if (gw_task_arg_i64(task, 0, &stream) < 0)
        return GW_EINVAL;
    close((int)stream);
    int rc = gw_task_return(task, gw_bytes(data, sizeof data));
    if (write((int)stream, "into what lies there now", 24) >= 0)
        return gw_task_fail(task, GW_EIO, "something lies there");
    return rc;
}
GW_TASK(close_early);

/* Closes both streams, and receives messages until it is told to stop. */
static int close_and_listen(struct gw_task *task)
{
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    while (gw_task_step(task, 0, NULL, 0) == GW_CONTINUE)
        ;
    return 0;
}
GW_TASK(close_and_listen);

static int echo(struct gw_task *task)
{
    struct gw_value *value;
    int rc = gw_task_arg_value(task, 0, &value);
    printf("echo\n");
    return rc < 0 ? rc : gw_task_return(task, gw_value_ref(value));
}
GW_TASK(echo);

static char dir[64];

static const char *read_file(const char *name)
{
    static char text[65536];
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("there is no %s", name);
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return text;
}

static void spoilt_output_streams_are_restored_for_the_next_task(void **state)
{
    enum { WAYS = 6, COUNT = 3 * WAYS }; /* each of them more than once */
    struct side_row rows[2 * COUNT];
    struct side side;
    char wanted[64];
    strcpy(dir, "/tmp/gangway-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0); /* also the runner's folder */
    assert_int_equal(mkdir("log", 0700), 0);
    side_open(&side, dir);
    side_spec(&side, 0, "spoil_streams", 0);
    side_spec(&side, 1, "print", 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        struct gw_value *how = gw_list();
        assert_int_equal(gw_list_push(how, gw_i64(i % WAYS)), 0);
        rows[2 * i] = (struct side_row){.index = 2 * i, .args = how};
        rows[2 * i + 1] = (struct side_row){.index = 2 * i + 1, .spec = 1};
    }
    side_assign(&side, rows, 2 * COUNT);
    side_flush(&side);
    for (uint32_t got = 0; got < 2 * COUNT;)
        got += side_get(&side, GW_MESSAGE_finished)->finished.attempt.count;
    for (uint32_t i = 0; i < COUNT; i++) {
        snprintf(wanted, sizeof wanted, "before %u\n", i % WAYS);
        assert_string_equal(printed("log/42", 1000 + 2 * i, i % 2 + 1), wanted);
        assert_string_equal(printed("log/42", 1001 + 2 * i, 1), "after\n");
        snprintf(wanted, sizeof wanted, "error of %u\n", 2 * i + 1);
        assert_string_equal(printed("log/42", 1001 + 2 * i, 2), wanted);
    }
    assert_string_equal(read_file("other"),
                        "mine\nmine\nmine\nmine\nmine\nmine\n"); /* the file was not emptied */
    side_close(&side);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(gw_dir_remove(dir, NULL), 0);
}

static void wait_finished(struct side *side, uint32_t count)
{
    for (uint32_t got = 0; got < count;)
        got += side_get(side, GW_MESSAGE_finished)->finished.attempt.count;
}

static void assert_large(struct gw_value *value)
{
    const void *data;
    size_t bytes;
    assert_int_equal(gw_value_get_bytes(value, &data, &bytes, NULL), 0);
    assert_int_equal(bytes, LARGE_BYTES);
    assert_string_equal(data, "large");
    gw_value_unref(value);
}

/* The file of the result must not take the descriptor number of the closed stream. */
static void result_is_stored_correctly_if_a_stream_is_closed(void **state)
{
    struct side side;
    (void)state;
    assert_int_equal(side_set_up(&side, dir), 0);
    side_spec(&side, 0, "close_early", 0);
    side_spec(&side, 1, "print", 0);
    for (uint32_t stream = 0; stream <= 2; stream++) {
        const struct side_row row = {.index = 2 * stream, .args = side_list(gw_i64(stream), NULL)};
        side_assign(&side, &row, 1);
        side_flush(&side);
        wait_finished(&side, 1);
        assert_large(side_value(&side, 0));
        side_assign(&side, &(struct side_row){.index = 2 * stream + 1, .spec = 1}, 1);
        side_flush(&side);
        wait_finished(&side, 1);
    }
    for (uint32_t stream = 0; stream <= 2; stream++) {
        char path[SIDE_DIR_BYTES + 16];
        snprintf(path, sizeof path, "%s/log/42", dir);
        assert_string_equal(printed(path, 1001 + 2 * stream, 1), "after\n");
    }
    assert_int_equal(side_tear_down(&side, dir), 0);
}

/* Inputs that arrive while the streams are closed are still there when the streams are restored. */
static void inputs_that_arrive_while_streams_are_closed_are_used(void **state)
{
    static const char data[LARGE_BYTES] = "large";
    struct side side;
    struct side_row rows[3];
    (void)state;
    assert_int_equal(side_set_up(&side, dir), 0);
    side_spec(&side, 0, "close_and_listen", 0);
    side_spec(&side, 1, "echo", 0);
    side_assign(&side, &(struct side_row){.index = 0}, 1);
    side_flush(&side);
    (void)side_get(&side,
                   GW_MESSAGE_task_blocked); /* it runs for a while: the streams are closed */
    for (uint32_t i = 1; i < 3; i++) {
        struct gw_value *args = side_list(gw_result((gw_node){0}), NULL);
        rows[i] = (struct side_row){.index = i, .spec = 1, .args = args, .dep_count = 1};
        rows[i].deps[0] = (struct side_dep){.value = gw_bytes(data, sizeof data), .by_fd = true};
    }
    side_assign(&side, rows + 1, 2);
    struct gw_message stop = {.type = GW_MESSAGE_control, .control = {1000, GW_STOP}};
    side_put(&side, &stop, -1);
    side_put(&side, &(struct gw_message){.type = GW_MESSAGE_task_taken},
             -1); /* nothing was taken */
    side_flush(&side);
    for (uint32_t got = 0; got < 3;) {
        uint32_t count = side_get(&side, GW_MESSAGE_finished)->finished.attempt.count;
        for (uint32_t i = 0; i < count; i++, got++)
            if (got > 0)
                assert_large(side_value(&side, i));
    }
    assert_int_equal(side_tear_down(&side, dir), 0);
}

/* Streams 1 and 2 as the supervisor opens them, in a process of its own. Returns how many of
 * `count` tasks that only close a stream, in the shortest time, leave the next task without one. */
static int shut_streams(int count)
{
    static struct gw_output output;
    const struct gw_output_place place = {.job = 42, .rank = GW_RANK_NONE};
    struct gw_output_err err;
    int missed = 0;
    for (int i = 0; i < 2; i++) {
        int fd = open(i == 0 ? "out" : "err", O_RDWR | O_APPEND | O_CREAT, 0600);
        if (fd < 0 || dup2(fd, STDOUT_FILENO + i) < 0)
            return -1;
        close(fd);
    }
    gw_output_init(&output, ".");
    gw_output_move(&output, &place, UINT64_MAX, &err);
    for (int i = 0; i < count; i++) {
        int fd = STDOUT_FILENO + i % 2;
        uint64_t begin_ns = gw_clock_now_ns();
        close(fd);
        uint64_t ran_ns = gw_clock_now_ns() - begin_ns;
        gw_output_move(&output, &place, ran_ns, &err);
        missed += fcntl(fd, F_GETFD) < 0;
        gw_output_move(&output, &place, UINT64_MAX, &err);
    }
    return missed;
}

/* A change to a stream is noticed however short the task is. */
static void streams_closed_by_a_very_short_task_are_restored(void **state)
{
    (void)state;
    int status;
    strcpy(dir, "/tmp/gangway-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(shut_streams(1000) != 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(gw_dir_remove(dir, NULL), 0);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spoilt_output_streams_are_restored_for_the_next_task),
        cmocka_unit_test(streams_closed_by_a_very_short_task_are_restored),
        cmocka_unit_test(result_is_stored_correctly_if_a_stream_is_closed),
        cmocka_unit_test(inputs_that_arrive_while_streams_are_closed_are_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
