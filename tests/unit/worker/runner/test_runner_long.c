/* No task waits behind a long task: the runner reports the long task, and does not run tasks taken
 * from it. With real processes: this program is also the runner. */
#include "tests/unit/unit.h"

#include "graph/wire/enums.h"
#include "tests/unit/worker/runner/runner_harness.h"

#include <fcntl.h>
#include <gangway/task.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], fifo[80];
static struct side side;

/* Receives messages until it is told to stop. */
static int listen_long(struct gw_task *task)
{
    while (gw_task_step(task, 0, NULL, 0) == GW_CONTINUE)
        ;
    return 0;
}
GW_TASK(listen_long);

static int set_up(void **state)
{
    (void)state;
    if (side_set_up(&side, dir) < 0)
        return -1;
    snprintf(fifo, sizeof fifo, "%s/fifo", dir);
    if (mkfifo(fifo, 0600) < 0)
        return -1;
    side_spec(&side, 0, "twice", 0);
    side_spec(&side, 1, "block", 0);
    side_spec(&side, 2, "listen_long", 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return side_tear_down(&side, dir);
}

/* Tasks that double their argument: `index` and following. */
static void assign_twice(uint32_t index, uint32_t count)
{
    struct side_row rows[8] = {0};
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (struct side_row){.index = index + i, .args = side_list(gw_i64(index + i), NULL)};
    side_assign(&side, rows, count);
}

static void assign_block(uint32_t index)
{
    const struct side_row row = {.index = index, .spec = 1, .args = side_list(gw_str(fifo), NULL)};
    side_assign(&side, &row, 1);
}

/* The next results are of these tasks. */
static void must_finish(uint32_t index, uint32_t count)
{
    for (uint32_t got = 0; got < count;) {
        const struct gw_msg_finished *finished = &side_get(&side, GW_MESSAGE_finished)->finished;
        for (uint32_t i = 0; i < finished->attempt.count; i++, got++)
            assert_int_equal(gw_col64_at(finished->attempt, i), 1000 + index + got);
    }
}

static void must_run_long(uint32_t index)
{
    const struct gw_msg_task_blocked *blocked =
        &side_get(&side, GW_MESSAGE_task_blocked)->task_blocked;
    assert_int_equal(blocked->attempt, 1000 + index);
    assert_int_equal(blocked->rank, GW_RANK_NONE);
    assert_int_equal(blocked->blocked, GW_BLOCKED_LONG);
}

static void answer(uint64_t attempt)
{
    const struct gw_message message = {.type = GW_MESSAGE_task_taken,
                                       .task_taken = {.attempt = attempt}};
    side_put(&side, &message, -1);
    side_flush(&side);
}

static void let_go(void)
{
    int fd = open(fifo, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
}

static void tasks_taken_from_a_runner_are_not_run_by_it(void **state)
{
    for (uint32_t round = 0; round < 3; round++) { /* the report is sent for each long task */
        const uint32_t base = 100 * round;
        assign_twice(base, 2);
        assign_block(base + 2);
        assign_twice(base + 3, 2);
        side_flush(&side);
        must_finish(base, 2);
        must_run_long(base + 2);
        assign_twice(base + 5, 3); /* tasks that are on their way by then are taken, too */
        answer(1000 + base + 2);
        assign_twice(base + 8, 2);
        side_flush(&side);
        let_go();
        must_finish(base + 2, 1);
        must_finish(base + 8, 2);
    }
}

static void runner_runs_all_tasks_if_none_was_taken(void **state)
{
    assign_block(0);
    assign_twice(1, 3);
    side_flush(&side);
    must_run_long(0);
    answer(0);
    let_go();
    must_finish(0, 4);
    assert_true(side.cpu_ns > 0);
}

/* The long task ends before the answer: no task is started until the answer is known. */
static void runner_waits_for_the_answer_before_the_next_task(void **state)
{
    assign_block(0);
    assign_twice(1, 3);
    side_flush(&side);
    must_run_long(0);
    let_go();
    must_finish(0, 1);
    answer(1000);
    assign_twice(4, 1);
    side_flush(&side);
    must_finish(4, 1);
}

/* The running task processes the answer itself, so nothing is awaited when it has ended. */
static void answer_during_the_long_task_needs_no_wait(void **state)
{
    const struct gw_message stop = {.type = GW_MESSAGE_control, .control = {1000, GW_STOP}};
    side_assign(&side, &(struct side_row){.index = 0, .spec = 2}, 1);
    assign_twice(1, 3);
    side_flush(&side);
    must_run_long(0);
    answer(1000);
    side_put(&side, &stop, -1);
    assign_twice(1, 2);
    side_flush(&side);
    must_finish(0, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const struct CMUnitTest tests[] = {
        TEST(tasks_taken_from_a_runner_are_not_run_by_it),
        TEST(runner_runs_all_tasks_if_none_was_taken),
        TEST(runner_waits_for_the_answer_before_the_next_task),
        TEST(answer_during_the_long_task_needs_no_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
