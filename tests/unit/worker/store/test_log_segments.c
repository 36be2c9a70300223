/* Log segments: the output of runners, read back by other processes while more is written. */
#include "tests/unit/printed.h"
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "worker/runner/log_segment.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[4][160];
    static unsigned next;
    char *at = path[next++ % 4];
    snprintf(at, sizeof path[0], "%s/%s", dir, name);
    return at;
}

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/gw-segments-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return gw_dir_remove(dir, NULL);
}

static void open_segment(struct gw_log_segment *segment, const char *capture)
{
    int fd = open(in_dir(capture), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    gw_log_segment_init(segment, dir, fd);
    close(fd);
}

static int add(struct gw_log_segment *segment, uint64_t job, uint64_t attempt, const char *out,
               const char *err)
{
    const char *const said[2] = {out, err};
    const struct gw_log_segment_record record = {
        .magic = GW_LOG_SEGMENT_MAGIC,
        .index = (uint32_t)attempt % 100,
        .attempt = attempt,
        .bytes = {(uint32_t)strlen(out), (uint32_t)strlen(err)},
    };
    return gw_log_segment_add(segment, job, &record, said);
}

static void log_segments_return_the_output_of_each_attempt(void **state)
{
    struct gw_log_segment one, two;
    struct gw_log_segments_part part;
    (void)state;
    open_segment(&one, "runner.7.1.out");
    open_segment(&two, "runner.7.12.err");
    for (uint64_t job = 1; job <= 6; job++) { /* more than stay open */
        assert_int_equal(add(&one, job, 100 * job + 1, "one\n", ""), 0);
        assert_int_equal(add(&two, job, 100 * job + 2, "two\n", "its error\n"), 0);
    }
    assert_int_equal(add(&one, 1, 103, "", "three"), 0);
    assert_string_equal(printed(in_dir("1"), 101, 1), "one\n");
    assert_null(printed(in_dir("1"), 101, 2));
    assert_string_equal(printed(in_dir("1"), 103, 2), "three");
    assert_string_equal(printed(in_dir("6"), 602, 2), "its error\n");
    assert_null(printed(in_dir("6"), 101, 1)); /* of another job */

    struct gw_log_segments *segments = gw_log_segments_new();
    assert_false(gw_log_segments_find(segments, in_dir("1"), 201, 1, &part));
    assert_true(gw_log_segments_find(segments, in_dir("2"), 201, 1, &part));
    assert_int_equal(part.bytes, 4);
    assert_int_equal(gw_log_segments_latest(segments, in_dir("2"), 1), 201);
    assert_int_equal(add(&two, 2, 301, "again\n", ""), 0); /* index 1, another attempt */
    assert_int_equal(gw_log_segments_latest(segments, in_dir("2"), 1), 301);
    assert_true(gw_log_segments_find(segments, in_dir("2"), 301, 1, &part));
    assert_int_equal(gw_log_segments_latest(segments, in_dir("2"), 9), 0);
    assert_int_equal(gw_log_segments_latest(segments, in_dir("none"), 1), 0);
    gw_log_segments_free(segments);
}

/* Many records are read in pieces; the last record is incomplete. */
static void incomplete_log_record_is_ignored(void **state)
{
    enum { MANY = 5000 };
    static char large[GW_LOG_SEGMENT_BYTES_MAX + 1];
    struct gw_log_segment segment;
    struct gw_log_segments_part part;
    struct stat status;
    (void)state;
    memset(large, 'x', sizeof large - 1);
    open_segment(&segment, "runner.7.1.out");
    struct gw_log_segments *segments = gw_log_segments_new();
    for (uint64_t i = 1; i <= MANY; i++) {
        assert_int_equal(add(&segment, 1, i, i % 50 ? "a line\n" : large, "e"), 0);
        if (i % 1000 == 0) {
            assert_true(gw_log_segments_find(segments, in_dir("1"), i - 999, 2, &part));
            assert_int_equal(part.bytes, 1);
            assert_true(gw_log_segments_find(segments, in_dir("1"), i, 1, &part));
            assert_int_equal(part.bytes, sizeof large - 1);
        }
    }
    assert_int_equal(stat(in_dir("1/runner.7.1"), &status), 0);
    assert_int_equal(add(&segment, 1, MANY + 1, "last", ""), 0);
    assert_int_equal(truncate(in_dir("1/runner.7.1"), status.st_size + 26), 0);
    assert_false(gw_log_segments_find(segments, in_dir("1"), MANY + 1, 1, &part));
    assert_true(gw_log_segments_find(segments, in_dir("1"), MANY, 1, &part));
    assert_int_equal(truncate(in_dir("1/runner.7.1"), 0),
                     0); /* a record read before is not there any more */
    assert_false(gw_log_segments_find(segments, in_dir("1"), MANY, 1, &part));
    gw_log_segments_free(segments);
}

static void log_mark_shows_the_running_attempt_to_other_processes(void **state)
{
    struct gw_log_segment segment;
    struct gw_log_segment_mark mark;
    (void)state;
    open_segment(&segment, "runner.7.3.out");
    assert_false(gw_log_segments_mark(in_dir("runner.7.3.mark"), &mark));
    gw_log_segment_begin(&segment, 5);
    assert_true(
        gw_log_segments_mark(in_dir("runner.7.3.mark"), &mark)); /* although it has not printed */
    assert_int_equal(mark.attempt, 5);
    assert_int_equal(add(&segment, 1, 5, "five", ""), 0);
    gw_log_segment_move(&segment, (const uint64_t[]){4, 0});
    assert_true(gw_log_segments_mark(in_dir("runner.7.3.mark"), &mark));
    assert_int_equal(mark.attempt, 0);
    assert_int_equal(mark.begin[0], 4);
    gw_log_segment_begin(&segment, 6);
    assert_true(gw_log_segments_mark(in_dir("runner.7.3.mark"), &mark));
    assert_int_equal(mark.attempt, 6);
    assert_int_equal(mark.begin[1], 0);
}

/* A task may close any descriptor and reuse its number for its own file, and a cleanup may
 * remove the folder. Captures with other names have no log segment. */
static void log_segment_never_writes_into_a_file_of_the_task(void **state)
{
    struct gw_log_segment segment, other;
    char text[8] = "";
    (void)state;
    open_segment(&segment, "runner.7.4.out");
    assert_int_equal(add(&segment, 1, 1, "one", ""), 0);
    int fd = open(in_dir("mine"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "mine", 4), 4);
    assert_int_equal(dup2(fd, segment.files[0].fd), segment.files[0].fd);
    assert_int_equal(add(&segment, 1, 2, "two", ""), 0);
    assert_int_equal(pread(fd, text, sizeof text, 0), 4);
    close(fd);
    assert_string_equal(printed(in_dir("1"), 2, 1), "two");
    assert_int_equal(gw_dir_remove(in_dir("1"), NULL), 0);
    assert_int_equal(add(&segment, 1, 3, "three", ""), 0);
    assert_string_equal(printed(in_dir("1"), 3, 1), "three");
    open_segment(&other, "elsewhere.out");
    assert_int_equal(add(&other, 1, 4, "four", ""), GW_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(log_segments_return_the_output_of_each_attempt, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(incomplete_log_record_is_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(log_mark_shows_the_running_attempt_to_other_processes,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(log_segment_never_writes_into_a_file_of_the_task, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
