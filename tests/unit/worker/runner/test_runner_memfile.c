/* Memory files in a runner: the files it writes its results into, and the mappings it retains. With
 * real processes: this program is also the runner. */
#include "tests/unit/unit.h"

#include "graph/wire/enums.h"
#include "tests/unit/worker/runner/runner_harness.h"
#include "worker/runner/mapping.h"

#include <fcntl.h>
#include <gangway/task.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 2 * GW_MEMFILE_BYTES_MIN, HEAD = 5 /* of so many bytes as MessagePack */ };

static char dir[SIDE_DIR_BYTES];
static struct side side;

/* -- What the runner runs ------------------------------------------------------------------------
 */

/* Returns the first byte, if all are equal, and the number of mappings. */
static int ends_of(struct gw_task *task)
{
    const void *data;
    size_t bytes;
    if (gw_task_arg_bytes(task, 0, &data, &bytes) < 0)
        return GW_EINVAL;
    const char *text = data;
    if (memcmp(text, text + 1, bytes - 1) != 0)
        return gw_task_fail(task, GW_ECORRUPT, "they differ");
    return gw_task_return(task, gw_i64(text[0] * 1000 + (int64_t)gw_mapping_count()));
}
GW_TASK(ends_of);

static struct gw_value *retained;

/* Stores its argument, if it has one, in place of the stored value. */
static int retain(struct gw_task *task)
{
    struct gw_value *value = NULL;
    if (gw_task_arg_count(task) && gw_task_arg_value(task, 0, &value) < 0)
        return GW_EINVAL;
    gw_value_unref(retained);
    retained = value ? gw_value_ref(value) : NULL;
    return 0;
}
GW_TASK(retain);

/* Forks a child that outlives the task and has the same mappings. */
static int part(struct gw_task *task)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    return child > 0 ? gw_task_return(task, gw_i64(child)) : GW_EIO;
}
GW_TASK(part);

static int twice_returned(struct gw_task *task)
{
    static char data[BYTES];
    int rc = gw_task_return(task, gw_bytes(data, sizeof data));
    return rc < 0 ? rc : gw_task_return(task, gw_i64(3));
}
GW_TASK(twice_returned);

/* -- The worker's side ---------------------------------------------------------------------------
 */

static int set_up(void **state)
{
    (void)state;
    if (side_set_up(&side, dir) < 0)
        return -1;
    side_spec(&side, 0, "bytes_of", 0);
    side_spec(&side, 1, "ends_of", 0);
    side_spec(&side, 2, "retain", 0);
    side_spec(&side, 3, "part", 0);
    side_spec(&side, 4, "twice_returned", 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return side_tear_down(&side, dir);
}

static void give(uint64_t attempt, uint64_t number, uint64_t bytes, int fd)
{
    const struct gw_message message = {.type = GW_MESSAGE_memfile_given,
                                       .memfile_given = {attempt, number, bytes}};
    side_put(&side, &message, fd);
}

/* Task `index` returns `count` bytes 'a' + index. */
static void assign_bytes(uint32_t index, int64_t count)
{
    side_assign(&side, &(struct side_row){.index = index, .args = side_list(gw_i64(count), NULL)},
                1);
    side_flush(&side);
}

/* The descriptor of the result in file `number`. */
static int take_filled(uint32_t index, uint64_t number)
{
    const struct gw_msg_memfile_filled filled =
        side_get(&side, GW_MESSAGE_memfile_filled)->memfile_filled;
    assert_int_equal(filled.attempt, 1000 + index);
    assert_int_equal(filled.memfile, number);
    assert_int_equal(filled.cached, 0);
    (void)side_get(&side, GW_MESSAGE_finished);
    return side_fd(&side);
}

static void assert_file(int fd, char byte, size_t bytes)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, bytes + HEAD); /* no byte follows the result */
    char *data = malloc(bytes);
    assert_int_equal(pread(fd, data, bytes, HEAD), bytes);
    assert_int_equal(data[0], byte);
    assert_memory_equal(data, data + 1, bytes - 1);
    free(data);
}

static bool same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static void result_file_is_reused_for_later_results(void **state)
{
    (void)state;
    give(1000, 7, 0, -1);
    assign_bytes(0, BYTES);
    int first = take_filled(0, 7);
    assert_file(first, 'a', BYTES);
    give(1001, 7, BYTES + HEAD, first);
    assign_bytes(1, BYTES - 100000); /* shorter, */
    int second = take_filled(1, 7);
    assert_true(same_file(first, second));
    assert_file(second, 'b', BYTES - 100000);
    give(1002, 7, BYTES - 100000 + HEAD, second);
    assign_bytes(2, BYTES); /* longer */
    int third = take_filled(2, 7);
    assert_true(same_file(first, third));
    assert_file(third, 'c', BYTES);
    close(first);
    close(second);
    close(third);
}

static void oversized_result_file_is_not_used(void **state)
{
    int old = memfd_create("old", MFD_CLOEXEC);
    (void)state;
    assert_int_equal(ftruncate(old, (off_t)16 * BYTES), 0);
    give(1000, 7, 16 * BYTES, old);
    assign_bytes(0, BYTES); /* most of the file would be unused */
    (void)side_get(&side, GW_MESSAGE_finished);
    int fd = side_fd(&side);
    assert_false(same_file(fd, old));
    assert_file(fd, 'a', BYTES);
    close(fd);
    give(1001, 8, 0, -1);
    assign_bytes(1, 10); /* inline */
    assert_int_equal(gw_col32_at(side_get(&side, GW_MESSAGE_finished)->finished.value_size, 0), 12);
    give(1002, 9, 0, -1);
    side_assign(&side, &(struct side_row){.index = 2, .spec = 4},
                1); /* and so is this result, in the end */
    side_flush(&side);
    assert_int_equal(gw_col32_at(side_get(&side, GW_MESSAGE_finished)->finished.value_size, 0), 1);
    close(old);
}

/* Task `index` of spec `spec` gets bytes in file `number`, through fd. */
static void lend(uint32_t index, uint32_t spec, uint64_t number, int fd, char byte)
{
    char *data = malloc(BYTES);
    memset(data, byte, BYTES);
    struct side_row row = {
        .index = index, .spec = spec, .args = side_list(gw_result((gw_node){0}), NULL)};
    row.deps[0] = (struct side_dep){
        .value = gw_bytes(data, BYTES), .by_fd = true, .memfile = number, .fd = fd};
    row.dep_count = 1;
    side_assign(&side, &row, 1);
    side_flush(&side);
    free(data);
}

static void must_return(uint64_t number)
{
    const struct gw_msg_memfile_returned *returned =
        &side_get(&side, GW_MESSAGE_memfile_returned)->memfile_returned;
    assert_int_equal(returned->memfile.count, 1);
    assert_int_equal(gw_col64_at(returned->memfile, 0), number);
}

static int64_t must_finish(void)
{
    int64_t number = 0;
    (void)side_get(&side, GW_MESSAGE_finished);
    struct gw_value *value = side_value(&side, 0);
    (void)gw_value_get_i64(value, &number, NULL);
    gw_value_unref(value);
    return number;
}

static void mapped_inputs_are_reused_until_their_file_is_gone(void **state)
{
    int one = memfd_create("one", MFD_CLOEXEC), two = memfd_create("two", MFD_CLOEXEC);
    (void)state;
    lend(0, 1, 7, one, 'x');
    assert_int_equal(must_finish(), 'x' * 1000 + 1);
    must_return(7);
    lend(1, 1, 7, one, 'y'); /* overwritten, and read through the same mapping */
    assert_int_equal(must_finish(), 'y' * 1000 + 1);
    must_return(7);
    lend(2, 1, 8, two, 'z');
    assert_int_equal(must_finish(), 'z' * 1000 + 2);
    must_return(8);
    const struct gw_message gone = {.type = GW_MESSAGE_memfile_gone, .memfile_gone = {7}};
    side_put(&side, &gone, -1);
    lend(3, 1, 8, two, 'z');
    assert_int_equal(must_finish(), 'z' * 1000 + 1);
    must_return(8);
    close(one);
    close(two);
}

static void number_of_mappings_is_limited(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < GW_MAPPINGS_MAX + 10; i++) {
        int fd = memfd_create("one of many", MFD_CLOEXEC);
        lend(i, 1, i + 1, fd, 'x');
        int64_t mapped = must_finish() - 'x' * 1000;
        assert_in_range(mapped, 1, GW_MAPPINGS_MAX + 1);
        must_return(i + 1);
        close(fd);
    }
}

static void input_referenced_by_a_task_is_returned_later(void **state)
{
    int fd = memfd_create("kept", MFD_CLOEXEC);
    (void)state;
    lend(0, 2, 7, fd, 'x');
    (void)must_finish();
    side_assign(&side, &(struct side_row){.index = 1, .spec = 2, .args = side_list(NULL, NULL)}, 1);
    side_flush(&side);
    (void)must_finish(); /* and no return came before it */
    must_return(7);
    close(fd);
}

/* A forked child still has the mappings of its parent. */
static void input_inherited_by_a_child_process_is_not_returned(void **state)
{
    int fd = memfd_create("forked", MFD_CLOEXEC);
    (void)state;
    lend(0, 3, 7, fd, 'x');
    pid_t child = (pid_t)must_finish();
    lend(1, 1, 8, fd, 'y');
    assert_int_equal(must_finish(), 'y' * 1000 + 1);
    must_return(8); /* and not 7 */
    assert_int_equal(kill(child, SIGKILL), 0);
    close(fd);
}

/* A task that does not run does not read its inputs. */
static void inputs_of_a_taken_task_are_returned(void **state)
{
    char path[96];
    int fd = memfd_create("taken", MFD_CLOEXEC);
    (void)state;
    snprintf(path, sizeof path, "%s/fifo", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    side_spec(&side, 5, "block", 0);
    side_assign(
        &side, &(struct side_row){.index = 0, .spec = 5, .args = side_list(gw_str(path), NULL)}, 1);
    lend(1, 1, 7, fd, 'x');
    assert_int_equal(side_get(&side, GW_MESSAGE_task_blocked)->task_blocked.blocked,
                     GW_BLOCKED_LONG);
    const struct gw_message taken = {.type = GW_MESSAGE_task_taken, .task_taken = {1000}};
    side_put(&side, &taken, -1);
    side_flush(&side);
    int writer = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(writer, "", 1), 1);
    close(writer);
    (void)side_get(&side, GW_MESSAGE_finished);
    assign_bytes(2, 10); /* the return is reported behind it */
    (void)side_get(&side, GW_MESSAGE_finished);
    must_return(7);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const struct CMUnitTest tests[] = {
        TEST(result_file_is_reused_for_later_results),
        TEST(oversized_result_file_is_not_used),
        TEST(mapped_inputs_are_reused_until_their_file_is_gone),
        TEST(number_of_mappings_is_limited),
        TEST(input_referenced_by_a_task_is_returned_later),
        TEST(input_inherited_by_a_child_process_is_not_returned),
        TEST(inputs_of_a_taken_task_are_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
