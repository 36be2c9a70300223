/* Boards: what is put there is taken, by whom it is meant for and nobody else; who waits is woken.
 */
#include "tests/unit/unit.h"

#include "graph/base/clock.h"
#include "graph/wire/board.h"

#include <gangway/error.h>

#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = GW_BOARD_RUNNER_SLOTS };

static struct gw_board *open_board(int *fd)
{
    struct gw_board *board;
    assert_int_equal(gw_board_new(fd), 0);
    assert_int_equal(gw_board_open(*fd, &board), 0);
    return board;
}

static void test_put_and_take(void **state)
{
    (void)state;
    uint8_t value[GW_BOARD_VALUE_MAX], large[GW_BOARD_VALUE_MAX + 1] = {1};
    uint32_t size = 0;
    int fd;
    struct gw_board *board = open_board(&fd);
    const uint64_t first = gw_board_place(1, 0, 0), again = gw_board_place(2, 0, SLOTS),
                   other = gw_board_place(1, 0, 1), none = gw_board_place(3, 0, 0),
                   last = gw_board_place(7, GW_BOARD_RUNNERS_MAX - 1, SLOTS - 1),
                   behind = gw_board_place(8, GW_BOARD_RUNNERS_MAX - 1, SLOTS - 1);
    assert_int_equal(gw_board_take(board, first, value, &size), GW_EAGAIN);
    gw_board_put(board, first, "abc", 3);
    assert_int_equal(gw_board_take(board, first, value, &size), 0);
    assert_int_equal(size, 3);
    assert_memory_equal(value, "abc", 3);
    assert_int_equal(gw_board_take(board, again, value, &size), GW_EAGAIN); /* the same slot */
    assert_int_equal(gw_board_take(board, other, value, &size), GW_EAGAIN);
    gw_board_put(board, again, "d", 1);
    assert_int_equal(gw_board_take(board, again, value, &size), 0);
    assert_int_equal(gw_board_take(board, first, value, &size), GW_EAGAIN); /* no more */
    gw_board_put(board, none, NULL, 0);
    assert_int_equal(gw_board_take(board, none, value, &size), GW_ENOENT);
    assert_int_equal(gw_board_take(board, again, value, &size), GW_EAGAIN);
    gw_board_put(board, last, large, sizeof large);
    assert_int_equal(gw_board_take(board, last, value, &size), GW_ENOENT);
    gw_board_put(board, behind, large, GW_BOARD_VALUE_MAX);
    assert_int_equal(gw_board_take(board, behind, value, &size), 0);
    assert_int_equal(size, GW_BOARD_VALUE_MAX);
    gw_board_put(board, 0, large, 1); /* ignored */
    gw_board_put(NULL, first, large, 1);
    assert_int_equal(gw_board_take(board, 0, value, &size), GW_ENOENT);
    assert_int_equal(gw_board_take(NULL, first, value, &size), GW_ENOENT);
    gw_board_close(board);
    close(fd);
}

/* A child sleeps until what it waits for is there, whatever else comes to that place before. */
static void test_sleep(void **state)
{
    (void)state;
    int fd, status, ready[2];
    struct gw_board *board = open_board(&fd);
    const uint64_t place = gw_board_place(12, 3, 9);
    uint64_t until_ns = gw_clock_now_ns();
    assert_false(gw_board_look(board, place, until_ns));
    assert_false(gw_board_sleep(board, place, until_ns));
    assert_int_equal(pipe(ready), 0);
    until_ns += 60 * GW_NS_PER_S;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint8_t value[GW_BOARD_VALUE_MAX];
        uint32_t size;
        struct gw_board *own;
        bool well = gw_board_open(fd, &own) == 0 && write(ready[1], "", 1) == 1 &&
                    gw_board_sleep(own, place, until_ns) &&
                    gw_board_take(own, place, value, &size) == 0 && value[0] == 'x';
        _exit(well ? 0 : 1);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    for (uint64_t number = 1; number < 12; number++)
        gw_board_put(board, gw_board_place(number, 3, 9), "y", 1);
    gw_board_put(board, place, "x", 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(gw_board_look(board, place, until_ns));
    close(ready[0]);
    close(ready[1]);
    gw_board_close(board);
    close(fd);
}

static void test_not_a_board(void **state)
{
    (void)state;
    struct gw_board *board = NULL;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(gw_board_open(ends[0], &board), GW_EPROTO);
    assert_null(board);
    close(ends[0]);
    close(ends[1]);
    gw_board_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_and_take),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_not_a_board),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
