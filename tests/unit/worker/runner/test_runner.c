/* The runner's loop, with real processes: this program is also the runner. */
#include "tests/unit/unit.h"

#include "graph/base/clock.h"
#include "graph/wire/codec.h"
#include "graph/wire/enums.h"
#include "tests/unit/printed.h"
#include "tests/unit/worker/runner/runner_harness.h"
#include "worker/runner/function.h"

#include <fcntl.h>
#include <gangway/task.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- The worker's side ---------------------------------------------------------------------------
 */

static char dir[SIDE_DIR_BYTES];
static struct side side;

static int set_up(void **state)
{
    (void)state;
    return side_set_up(&side, dir);
}

static int tear_down(void **state)
{
    (void)state;
    return side_tear_down(&side, dir);
}

static int64_t i64_of(struct gw_value *value)
{
    int64_t n;
    assert_int_equal(gw_value_get_i64(value, &n, NULL), 0);
    gw_value_unref(value);
    return n;
}

static const char *read_file(const char *name)
{
    static char text[65536];
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return text;
}

static void runner_hello_lists_the_functions(void **state)
{
    struct gw_value *names;
    struct side other;
    side_open(&other, dir);
    const struct gw_msg_runner *hello = &other.message.runner;
    assert_int_equal(
        gw_codec_decode(hello->functions.data, hello->functions.size, NULL, &names, NULL), 0);
    assert_int_equal(gw_value_count(names), gw_function_count());
    for (size_t i = 0; i < gw_value_count(names); i++) {
        const char *name;
        assert_int_equal(gw_value_get_str(gw_value_at(names, i), &name, NULL), 0);
        assert_string_equal(name, gw_function_at(i)->name);
    }
    gw_value_unref(names);
    side_close(&other);
}

enum { MANY = 1500, BATCH = 500 };

static void batched_tasks_run_in_order(void **state)
{
    static struct side_row rows[BATCH];
    uint32_t got = 0, messages = 0;
    side_spec(&side, 0, "twice", 0);
    for (uint32_t base = 0; base < MANY; base += BATCH) {
        for (uint32_t i = 0; i < BATCH; i++)
            rows[i] = (struct side_row){.index = base + i,
                                        .args = side_list(gw_i64(7 * (base + i)), NULL)};
        side_assign(&side, rows, BATCH);
    }
    side_flush(&side);
    while (got < MANY) {
        const struct gw_msg_finished *finished = &side_get(&side, GW_MESSAGE_finished)->finished;
        messages++;
        for (uint32_t i = 0; i < finished->attempt.count; i++, got++) {
            assert_int_equal(gw_col64_at(finished->attempt, i), 1000 + got);
            assert_int_equal(gw_col32_at(finished->rank, i), GW_RANK_NONE);
            assert_int_equal(i64_of(side_value(&side, i)), 14 * got);
        }
    }
    assert_int_equal(got, MANY);
    assert_true(messages < MANY / 4); /* the results share messages */
}

static void finished_task_is_reported_while_the_next_runs(void **state)
{
    char fifo[96];
    snprintf(fifo, sizeof fifo, "%s/fifo", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    side_spec(&side, 0, "twice", 0);
    side_spec(&side, 1, "block", 0);
    side_spec(&side, 2, "fail_aloud", 0);
    for (uint32_t round = 0; round < 2; round++) {
        const struct side_row rows[] = {
            {.index = 0, .args = side_list(gw_i64(1), NULL)},
            {.index = 1, .spec = 2},
            {.index = 2, .spec = 1, .args = side_list(gw_str(fifo), NULL)},
        };
        side_assign(&side, rows, 3);
        side_flush(&side);
        (void)side_get(&side, GW_MESSAGE_finished);
        assert_int_equal(i64_of(side_value(&side, 0)), 2);
        assert_int_equal(side_get(&side, GW_MESSAGE_ended)->ended.attempt, 1001);
        int fd = open(fifo, O_WRONLY | O_CLOEXEC); /* waits until the task blocks there */
        assert_int_equal(write(fd, "x", 1), 1);
        close(fd);
        assert_int_equal(gw_col64_at(side_get(&side, GW_MESSAGE_finished)->finished.attempt, 0),
                         1002);
    }
}

static void repeated_attempt_is_reported_in_its_own_message(void **state)
{
    side_spec(&side, 0, "twice", 0);
    side_spec(&side, 1, "crash", 0);
    const struct side_row warm = {.args = side_list(gw_i64(1), NULL)};
    side_assign(&side, &warm, 1);
    side_flush(&side);
    (void)side_get(&side, GW_MESSAGE_finished);
    const struct side_row rows[] = {
        {.index = 1, .try_number = 1, .args = side_list(gw_i64(1), NULL)},
        {.index = 2, .try_number = 1, .args = side_list(gw_i64(1), NULL)},
        {.index = 3, .spec = 1},
    };
    side_assign(&side, rows, 3);
    side_flush(&side);
    for (uint32_t i = 1; i < 3; i++) {
        const struct gw_msg_finished *finished = &side_get(&side, GW_MESSAGE_finished)->finished;
        assert_int_equal(finished->attempt.count, 1);
        assert_int_equal(gw_col64_at(finished->attempt, 0), 1000 + i);
    }
    int status = side_wait(&side);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void task_errors_are_reported_and_the_runner_continues(void **state)
{
    side_spec(&side, 0, "twice", 0);
    side_spec(&side, 1, "fail_aloud", 0);
    side_spec(&side, 2, "unheard_of", 0);
    const struct side_row rows[] = {
        {.index = 0, .args = side_list(gw_i64(1), NULL)},
        {.index = 1, .args = side_list(gw_str("x"), NULL)},
        {.index = 2, .spec = 1},
        {.index = 3, .spec = 2},
        {.index = 4, .spec = 9},
        {.index = 5, .args = side_list(gw_i64(5), NULL)},
    };
    const struct {
        uint32_t outcome, executing;
        int code;
        const char *text;
    } wanted[] = {
        {GW_OUTCOME_FAILED, 1, GW_EINVAL, "twice: argument 0 is a string, wanted a whole number"},
        {GW_OUTCOME_FAILED, 1, GW_EIO, "task 2 of job 42 fails"},
        {GW_OUTCOME_CANNOT_START, 0, GW_ENOENT, "this program has no task function unheard_of"},
        {GW_OUTCOME_CANNOT_START, 0, GW_ENOENT, "this program has no task function of that number"},
    };
    side_assign(&side, rows, 6);
    side_flush(&side);
    (void)side_get(&side, GW_MESSAGE_finished);
    assert_int_equal(i64_of(side_value(&side, 0)), 2);
    for (uint32_t i = 0; i < 4; i++) {
        const struct gw_msg_ended *ended = &side_get(&side, GW_MESSAGE_ended)->ended;
        assert_int_equal(ended->attempt, 1001 + i);
        assert_int_equal(ended->rank, GW_RANK_NONE);
        assert_int_equal(ended->outcome, wanted[i].outcome);
        assert_int_equal(ended->executing, wanted[i].executing);
        assert_int_equal(ended->code, wanted[i].code);
        assert_string_equal(ended->text, wanted[i].text);
    }
    (void)side_get(&side, GW_MESSAGE_finished);
    assert_int_equal(i64_of(side_value(&side, 0)), 10);
}

/* Only the first of equal failures has a text; the failures stay in order with all other ends. */
static void equal_failures_share_a_message(void **state)
{
    enum { ALIKE = 300, ROWS = ALIKE + 3 };
    static struct side_row rows[ROWS];
    uint32_t seen = 0, messages = 0;
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = (struct side_row){.index = i, .args = side_list(gw_str("x"), NULL)};
    rows[ALIKE].spec = 1; /* fails differently */
    gw_value_unref(rows[ALIKE].args);
    rows[ALIKE].args = NULL;
    gw_value_unref(rows[ALIKE + 1].args);
    rows[ALIKE + 1].args = side_list(gw_i64(5), NULL); /* and this one succeeds */
    side_spec(&side, 0, "twice", 0);
    side_spec(&side, 1, "fail_aloud", 0);
    side_assign(&side, rows, ROWS);
    side_flush(&side);
    while (seen < ALIKE) {
        const struct gw_msg_failures *alike = &side_get(&side, GW_MESSAGE_failures)->failures;
        assert_int_equal(alike->code, GW_EINVAL);
        assert_string_equal(alike->text, "twice: argument 0 is a string, wanted a whole number");
        for (uint32_t i = 0; i < alike->attempt.count; i++)
            assert_int_equal(gw_col64_at(alike->attempt, i), 1000 + seen++);
        messages++;
    }
    assert_int_equal(seen, ALIKE);
    assert_true(messages < ALIKE / 2); /* they are also sent after 200 us */
    assert_int_equal(side_get(&side, GW_MESSAGE_failures)->failures.code, GW_EIO);
    (void)side_get(&side, GW_MESSAGE_finished);
    assert_int_equal(i64_of(side_value(&side, 0)), 10);
    assert_int_equal(side_get(&side, GW_MESSAGE_failures)->failures.code, GW_EINVAL);
}

/* The result is "x" for each character of a string or the length of bytes, in brackets for a
 * list, and so is short enough to compare. */
static void dependencies_reach_the_task_in_every_form(void **state)
{
    static char large[100000];
    memset(large, 'L', sizeof large);
    struct gw_value *args = side_list(gw_result((gw_node){0}), gw_result((gw_node){1}));
    assert_int_equal(gw_list_push(args, gw_result((gw_node){2})), 0);
    const struct side_row rows[] = {
        {.index = 0,
         .args = side_list(args, NULL),
         .deps = {{.value = gw_str("inline")},
                  {.value = gw_bytes(large, sizeof large), .by_fd = true},
                  {.rank = GW_DEP_ALL, .bytes = 3},
                  {.value = gw_i64(10)},
                  {.value = gw_bytes(large, 5000), .by_fd = true, .rank = 1},
                  {.value = gw_nil(), .rank = 2},
                  {.rank = GW_DEP_AFTER}},
         .dep_count = 7},
        {.index = 1,
         .args = side_list(gw_result((gw_node){0}), NULL),
         .deps = {{.value = gw_str("the next row's")}},
         .dep_count = 1},
    };
    side_spec(&side, 0, "echo", 0);
    side_assign(&side, rows, 2);
    side_flush(&side);
    (void)side_get(&side, GW_MESSAGE_finished);
    struct gw_value *value = side_value(&side, 0);
    char text[256];
    gw_value_format(value, text, sizeof text);
    assert_string_equal(text, "[\"inline\", <100.0 kB of bytes>, [10, <5.0 kB of bytes>, null]]");
    const void *data;
    size_t bytes;
    assert_int_equal(gw_value_get_bytes(gw_value_at(value, 1), &data, &bytes, NULL), 0);
    assert_int_equal(bytes, sizeof large);
    assert_memory_equal(data, large, sizeof large);
    gw_value_unref(value);

    if (side.message.finished.attempt.count == 1)
        (void)side_get(&side, GW_MESSAGE_finished);
    value = side_value(&side, side.message.finished.attempt.count - 1);
    gw_value_format(value, text, sizeof text);
    assert_string_equal(text, "\"the next row's\"");
    gw_value_unref(value);
}

/* Row n of a message, taken by a later row. */
static struct side_dep row_of(uint64_t n)
{
    return (struct side_dep){.bytes = n, .worker = GW_DEP_HERE};
}

static void row_takes_the_result_of_an_earlier_row(void **state)
{
    enum { HOPS = 60 };
    static struct side_row rows[HOPS];
    for (uint32_t i = 1; i < HOPS; i++)
        rows[i] = (struct side_row){.index = i,
                                    .spec = 1,
                                    .args = side_list(gw_result((gw_node){0}), NULL),
                                    .deps = {row_of(i - 1)},
                                    .dep_count = 1};
    rows[0] = (struct side_row){.args = side_list(gw_i64(100000), NULL)};
    side_spec(&side, 0, "bytes_of", 0);
    side_spec(&side, 1, "echo", 0);
    side_assign(&side, rows, HOPS); /* 100 kB, passed along the chain */
    side_flush(&side);
    for (uint32_t got = 0; got < HOPS;) {
        uint32_t count = side_get(&side, GW_MESSAGE_finished)->finished.attempt.count;
        for (uint32_t i = 0; i < count; i++, got++) {
            const void *data;
            size_t bytes;
            struct gw_value *value = side_value(&side, i);
            assert_int_equal(gw_value_get_bytes(value, &data, &bytes, NULL), 0);
            assert_int_equal(bytes, 100000);
            assert_int_equal(((const char *)data)[99999], 'a');
            gw_value_unref(value);
        }
    }
}

static void rows_that_depend_on_a_failed_row_are_skipped(void **state)
{
    const struct side_row rows[] = {
        {.index = 0, .args = side_list(gw_i64(1), NULL)},
        {.index = 1, .spec = 1, .deps = {row_of(0)}, .dep_count = 1},
        {.index = 2,
         .args = side_list(gw_result((gw_node){0}), NULL),
         .deps = {row_of(1)},
         .dep_count = 1},
        {.index = 3,
         .args = side_list(gw_result((gw_node){1}), NULL),
         .deps = {row_of(2), row_of(0)},
         .dep_count = 2},
        {.index = 4,
         .args = side_list(gw_result((gw_node){0}), NULL),
         .deps = {row_of(0)},
         .dep_count = 1},
        {.index = 5,
         .args = side_list(gw_result((gw_node){0}), NULL),
         .deps = {row_of(5)},
         .dep_count = 1},
    };
    side_spec(&side, 0, "twice", 0);
    side_spec(&side, 1, "fail_aloud", 0);
    side_assign(&side, rows, 6);
    side_flush(&side);
    (void)side_get(&side, GW_MESSAGE_finished);
    assert_int_equal(i64_of(side_value(&side, 0)), 2);
    assert_int_equal(side_get(&side, GW_MESSAGE_ended)->ended.attempt, 1001);
    assert_int_equal(side_get(&side, GW_MESSAGE_finished)->finished.attempt.count, 1);
    assert_int_equal(gw_col64_at(side.message.finished.attempt, 0), 1004);
    assert_int_equal(i64_of(side_value(&side, 0)), 4);
    const struct gw_msg_ended *ended = &side_get(&side, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->attempt, 1005); /* a row that takes its own result */
    assert_int_equal(ended->code, GW_EPROTO);
}

static void missing_dependency_descriptor_fails_only_its_task(void **state)
{
    const struct side_row rows[] = {
        {.index = 0,
         .args = side_list(gw_result((gw_node){0}), NULL),
         .deps = {{.bytes = 9999}},
         .dep_count = 1},
        {.index = 1, .args = side_list(gw_i64(3), NULL)},
    };
    side_spec(&side, 0, "echo", 0);
    side_assign(&side, rows, 2);
    side_flush(&side);
    const struct gw_msg_ended *ended = &side_get(&side, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->code, GW_EPROTO);
    (void)side_get(&side, GW_MESSAGE_finished);
    assert_int_equal(i64_of(side_value(&side, 0)), 3);
}

static void large_results_are_sent_by_descriptor(void **state)
{
    static const uint32_t sizes[] = {10, 5000, 4000, 300000, 0, 3 << 20};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    struct side_row rows[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        rows[i] = (struct side_row){.index = i, .args = side_list(gw_i64(sizes[i]), NULL)};
    side_spec(&side, 0, "bytes_of", 0);
    side_assign(&side, rows, COUNT);
    side_flush(&side);
    for (uint32_t got = 0; got < COUNT;) {
        uint32_t count = side_get(&side, GW_MESSAGE_finished)->finished.attempt.count;
        for (uint32_t i = 0; i < count; i++, got++) {
            const char *data;
            size_t bytes;
            struct gw_value *value = side_value(&side, i);
            assert_int_equal(gw_value_get_bytes(value, (const void **)&data, &bytes, NULL), 0);
            assert_int_equal(bytes, sizes[got]);
            for (size_t k = 0; k < bytes; k++)
                if (data[k] != 'a' + (int)got)
                    fail_msg("byte %zu of %u", k, got);
            gw_value_unref(value);
        }
        assert_int_equal(side.fd_at, side.fd_count);
    }
}

static void output_is_stored_per_task(void **state)
{
    char cut[64] = "";
    const struct side_row rows[] = {
        {.index = 0, .args = side_list(gw_str("one\ntwo"), NULL)},
        {.index = 1, .args = side_list(gw_str(""), NULL)},
        {.index = 2, .args = side_list(gw_str("three\n"), gw_nil())},
        {.index = 3, .spec = 1, .args = side_list(gw_str(strcpy(cut, "0123456789")), NULL)},
        {.index = 4, .spec = 2},
    };
    static char giant[1000];
    memset(giant, 'g', sizeof giant - 1);
    const struct side_row large = {
        .index = 5, .spec = 1, .args = side_list(gw_str(giant), NULL), .attempt = 77};
    side_spec(&side, 0, "print", 0);
    side_spec(&side, 1, "print", 10);
    side_spec(&side, 2, "look_around", 0);
    side_assign(&side, rows, 5);
    side_assign(&side, &large, 1);
    side_flush(&side);
    for (uint32_t got = 0; got < 6;)
        got += side_get(&side, GW_MESSAGE_finished)->finished.attempt.count;

    char log[128];
    snprintf(log, sizeof log, "%s/log/42", dir);
    assert_string_equal(printed(log, 1000, 1), "one\ntwo");
    assert_null(printed(log, 1000, 2));
    assert_null(printed(log, 1001, 1));
    assert_string_equal(printed(log, 1002, 1), "three\n");
    assert_string_equal(printed(log, 1002, 2), "error of 2\n");
    assert_string_equal(printed(log, 1003, 1), "0123456789");
    assert_string_equal(printed(log, 1004, 1), "0, 1, 2, 3\nrunner:\n");
    assert_null(read_file("log/42/0.1000.out")); /* one file has all of them */
    assert_string_equal(read_file("log/42/5.77.out"), "gggggggggg\n[output cut at 10 bytes]\n");
    struct stat status;
    assert_int_equal(stat(side.out, &status), 0);
    assert_int_equal(status.st_size, 0);
    assert_int_equal(stat(side.err, &status), 0); /* and is emptied when it is large */
    assert_int_equal(status.st_size, strlen("error of 2\n"));
}

/* -- Gangs ---------------------------------------------------------------------------------------
 */

enum { RANKS = 3 };
static struct side gang[RANKS];

static void gang_open(void)
{
    for (uint32_t rank = 0; rank < RANKS; rank++)
        side_open(&gang[rank], dir);
}

static void gang_close(void)
{
    for (uint32_t rank = 0; rank < RANKS; rank++)
        side_close(&gang[rank]);
}

static uint64_t gang_checkpoint, gang_checkpoint_lost; /* as the next attempt receives it */

/* Assigns an attempt, takes each rank_ready, and starts it. argument below 0: none. */
static void gang_start(const char *function, uint64_t attempt, int64_t argument)
{
    int segment;
    assert_int_equal(gw_comm_segment_create(RANKS, &segment, NULL), 0);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const struct gw_message message = {.type = GW_MESSAGE_gang,
                                           .gang = {.attempt = attempt,
                                                    .world = RANKS,
                                                    .local = RANKS,
                                                    .groups = 1,
                                                    .checkpoint = gang_checkpoint,
                                                    .checkpoint_lost = gang_checkpoint_lost != 0}};
        const struct side_row row = {.index = 6,
                                     .rank = rank + 1,
                                     .attempt = attempt,
                                     .args =
                                         argument < -1 ? NULL : side_list(gw_i64(argument), NULL)};
        side_spec(&gang[rank], 0, function, 0);
        side_put(&gang[rank], &message, -1);
        side_assign(&gang[rank], &row, 1);
        side_flush(&gang[rank]);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const struct gw_msg_rank_ready *ready =
            &side_get(&gang[rank], GW_MESSAGE_rank_ready)->rank_ready;
        assert_int_equal(ready->attempt, attempt);
        assert_int_equal(ready->rank, rank);
    }
    const struct gw_message go = {GW_MESSAGE_gang_start, .gang_start = {.attempt = attempt}};
    for (uint32_t rank = 0; rank < RANKS; rank++)
        side_put(&gang[rank], &go, segment);
    close(segment);
}

static void gang_reduces_twice_on_the_same_runners(void **state)
{
    char name[64], wanted[64];
    gang_open();
    for (uint64_t attempt = 5; attempt < 7; attempt++) { /* the same runners again */
        gang_start("sum_ranks", attempt, -1);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            const struct gw_msg_finished *finished =
                &side_get(&gang[rank], GW_MESSAGE_finished)->finished;
            assert_int_equal(gw_col64_at(finished->attempt, 0), attempt);
            assert_int_equal(gw_col32_at(finished->rank, 0), rank);
            assert_int_equal(i64_of(side_value(&gang[rank], 0)), 0 + 1 + 2);
            snprintf(name, sizeof name, "log/42/6.%lu.%u.out", (unsigned long)attempt, rank);
            snprintf(wanted, sizeof wanted, "rank %u of 3, local %u\n", rank, rank);
            assert_string_equal(read_file(name), wanted);
        }
    }
    gang_close();
}

static void failed_rank_aborts_the_other_ranks(void **state)
{
    gang_open();
    gang_start("sum_ranks", 5, 1);
    const struct gw_msg_ended *ended = &side_get(&gang[1], GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->code, GW_EIO);
    assert_int_equal(ended->rank, 1);
    assert_string_equal(ended->text, "rank 1 fails");
    for (uint32_t rank = 0; rank < RANKS; rank += 2) {
        ended = &side_get(&gang[rank], GW_MESSAGE_ended)->ended;
        assert_int_equal(ended->outcome, GW_OUTCOME_FAILED);
        assert_int_equal(ended->code, GW_EABORTED);
        assert_string_equal(ended->text,
                            "the communicator was aborted: rank 1: input/output error");
    }
    gang_start("sum_ranks", 6, -1); /* and they still work */
    for (uint32_t rank = 0; rank < RANKS; rank++)
        (void)side_get(&gang[rank], GW_MESSAGE_finished);
    gang_close();
}

static void rank_without_gang_data_is_refused(void **state)
{
    const struct side_row row = {.rank = 1};
    side_spec(&side, 0, "sum_ranks", 0);
    side_assign(&side, &row, 1);
    side_flush(&side);
    const struct gw_msg_ended *ended = &side_get(&side, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_CANNOT_START);
    assert_int_equal(ended->code, GW_EPROTO);
}

static void pause_stops_all_ranks_at_the_same_step(void **state)
{
    int64_t steps[RANKS];
    gang_open();
    gang_start("train", 5, -2);
    const struct gw_msg_metric *metric = &side_get(&gang[0], GW_MESSAGE_metric)->metric;
    assert_int_equal(metric->attempt, 5);
    assert_int_equal(metric->rank, 0);
    assert_int_equal(metric->step, 0);
    assert_string_equal(metric->name, "loss");
    assert_true(metric->value == 1.0);
    const struct gw_message stale = {.type = GW_MESSAGE_control,
                                     .control = {.attempt = 4, .command = GW_STOP}};
    const struct gw_message pause = {.type = GW_MESSAGE_control,
                                     .control = {.attempt = 5, .command = GW_PAUSE}};
    side_put(&gang[0], &stale, -1);
    side_flush(&gang[0]);
    int64_t last = side_get(&gang[0], GW_MESSAGE_metric)->metric.step; /* the training continues */
    side_put(&gang[0], &pause, -1);
    side_flush(&gang[0]);

    for (;;) { /* metrics until the end; the last one is of the last step */
        const struct gw_message *message = &gang[0].message;
        if (gw_channel_get(gang[0].channel, true, &gang[0].message, gang[0].fds, &gang[0].fd_count,
                           NULL) < 0)
            fail_msg("rank 0 is gone");
        if (message->type == GW_MESSAGE_finished)
            break;
        if (message->type == GW_MESSAGE_checkpointed)
            gang[0].checkpointed = message->checkpointed;
        else if (message->type == GW_MESSAGE_rank_paused)
            gang[0].paused = message->rank_paused.attempt == 5;
        else if (message->type == GW_MESSAGE_metric)
            last = message->metric.step;
    }
    assert_int_equal(gang[0].checkpointed.step, last + 1); /* it saved, and reported that */
    assert_true(gang[0].paused);
    steps[0] = i64_of(side_value(&gang[0], 0));
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        (void)side_get(&gang[rank], GW_MESSAGE_finished);
        steps[rank] = i64_of(side_value(&gang[rank], 0));
    }
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_int_equal(steps[rank], (last + 1) * 10 + GW_PAUSE);
    gang_close();
}

static void many_metrics_are_throttled_but_the_last_arrives(void **state)
{
    enum { STEPS = 20000, WINDOW = 64 };
    const struct side_row row = {.args = side_list(gw_i64(STEPS), NULL)};
    uint64_t began_ns = gw_clock_now_ns(), count = 0;
    int64_t last = -1;
    side_spec(&side, 0, "train", 0);
    side_assign(&side, &row, 1);
    side_flush(&side);
    while (last < STEPS - 1) {
        last = side_get(&side, GW_MESSAGE_metric)->metric.step;
        assert_true(count++ >= WINDOW || last == (int64_t)count - 1);
    }
    assert_true(count <= (WINDOW + 1) * (2 + (gw_clock_now_ns() - began_ns) / (50 * GW_NS_PER_MS)));
    (void)side_get(&side, GW_MESSAGE_finished);
    assert_int_equal(i64_of(side_value(&side, 0)), STEPS * 10);
}

static void next_attempt_continues_from_the_checkpoint(void **state)
{
    gang_open();
    gang_start("train", 5, 4);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        while (rank == 0 && side_get(&gang[0], GW_MESSAGE_metric)->metric.step < 3)
            ;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        (void)side_get(&gang[rank], GW_MESSAGE_finished);
    const struct gw_msg_checkpointed *saved = &gang[0].checkpointed;
    assert_true(saved->attempt == 5 && saved->rank == 0 && saved->step == 4);
    for (uint32_t lost = 0; lost < 2; lost++) { /* or not: its file is not here */
        gang_checkpoint = lost ? 77 : 5;
        gang_checkpoint_lost = lost;
        gang_start("train", 6 + lost, 7);
        gang_checkpoint = gang_checkpoint_lost = 0;
        assert_int_equal(side_get(&gang[0], GW_MESSAGE_metric)->metric.step, lost ? 0 : 4);
        while (side_get(&gang[0], GW_MESSAGE_metric)->metric.step < 6)
            ;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            (void)side_get(&gang[rank], GW_MESSAGE_finished);
            assert_int_equal(i64_of(side_value(&gang[rank], 0)), 70);
        }
    }
    gang_close();
}

/* -- The end -------------------------------------------------------------------------------------
 */

static void malformed_bytes_end_the_runner(void **state)
{
    assert_int_equal(send(gw_channel_fd(side.channel), "garbage, not a frame", 20, 0), 20);
    int status = side_wait(&side);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_non_null(strstr(read_file(strrchr(side.err, '/') + 1), "gangway: malformed message"));
}

static void refused_runner_prints_the_reason(void **state)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_refuse,
        .refuse = {.code = GW_EVERSION, .text = "protocol 1, wanted 3 or 2"}};
    side_put(&side, &message, -1);
    side_flush(&side);
    int status = side_wait(&side);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_string_equal(read_file(strrchr(side.err, '/') + 1),
                        "gangway: the worker refused this runner: protocol 1, wanted 3 or 2\n");
}

static void task_of_a_forgotten_job_fails(void **state)
{
    const struct gw_message message = {.type = GW_MESSAGE_forget, .forget = {.job = SIDE_JOB}};
    side_spec(&side, 0, "twice", 0);
    side_put(&side, &message, -1);
    const struct side_row row = {.args = side_list(gw_i64(1), NULL)};
    side_assign(&side, &row, 1);
    side_flush(&side);
    assert_int_equal(side_get(&side, GW_MESSAGE_ended)->ended.code, GW_ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const struct CMUnitTest tests[] = {
        TEST(runner_hello_lists_the_functions),
        TEST(batched_tasks_run_in_order),
        TEST(finished_task_is_reported_while_the_next_runs),
        TEST(repeated_attempt_is_reported_in_its_own_message),
        TEST(task_errors_are_reported_and_the_runner_continues),
        TEST(equal_failures_share_a_message),
        TEST(dependencies_reach_the_task_in_every_form),
        TEST(missing_dependency_descriptor_fails_only_its_task),
        TEST(row_takes_the_result_of_an_earlier_row),
        TEST(rows_that_depend_on_a_failed_row_are_skipped),
        TEST(large_results_are_sent_by_descriptor),
        TEST(output_is_stored_per_task),
        TEST(gang_reduces_twice_on_the_same_runners),
        TEST(failed_rank_aborts_the_other_ranks),
        TEST(rank_without_gang_data_is_refused),
        TEST(pause_stops_all_ranks_at_the_same_step),
        TEST(many_metrics_are_throttled_but_the_last_arrives),
        TEST(next_attempt_continues_from_the_checkpoint),
        TEST(malformed_bytes_end_the_runner),
        TEST(refused_runner_prints_the_reason),
        TEST(task_of_a_forgotten_job_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
