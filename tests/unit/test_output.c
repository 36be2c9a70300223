/* A runner whose tasks close its streams, or make them other files. */
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "tests/unit/printed.h"
#include "tests/unit/runner_harness.h"

#include <fcntl.h>
#include <gangway/task.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ends with the streams closed (0, 1), made another file (2, 3), or both, as FILEs (4, 5). */
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

static void test_streams_that_a_task_spoilt(void **state)
{
    enum { WAYS = 6 };
    struct side_row rows[2 * WAYS];
    struct side side;
    char wanted[64];
    strcpy(dir, "/tmp/gangway-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0); /* the runner's, too */
    assert_int_equal(mkdir("log", 0700), 0);
    side_open(&side, dir);
    side_spec(&side, 0, "spoil_streams", 0);
    side_spec(&side, 1, "print", 0);
    for (uint32_t i = 0; i < WAYS; i++) {
        struct gw_value *how = gw_list();
        assert_int_equal(gw_list_push(how, gw_i64(i)), 0);
        rows[2 * i] = (struct side_row){.index = 2 * i, .args = how};
        rows[2 * i + 1] = (struct side_row){.index = 2 * i + 1, .spec = 1};
    }
    side_assign(&side, rows, 2 * WAYS);
    side_flush(&side);
    for (uint32_t got = 0; got < 2 * WAYS;)
        got += side_get(&side, GW_MESSAGE_finished)->finished.attempt.count;
    for (uint32_t i = 0; i < WAYS; i++) {
        snprintf(wanted, sizeof wanted, "before %u\n", i);
        assert_string_equal(printed("log/42", 1000 + 2 * i, i % 2 + 1), wanted);
        assert_string_equal(printed("log/42", 1001 + 2 * i, 1), "after\n");
        snprintf(wanted, sizeof wanted, "error of %u\n", 2 * i + 1);
        assert_string_equal(printed("log/42", 1001 + 2 * i, 2), wanted);
    }
    assert_string_equal(read_file("other"), "mine\nmine\n"); /* it was not emptied */
    side_close(&side);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(gw_dir_remove(dir, NULL), 0);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_streams_that_a_task_spoilt)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
