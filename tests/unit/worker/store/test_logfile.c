/* Output files: tails, ranges of bytes, moves. */
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "worker/store/logfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static int set_up(void **state)
{
    strcpy(dir, "/tmp/gw-logfile-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    return gw_dir_remove(dir, NULL);
}

static const char *in_dir(const char *name)
{
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static void write_file(const char *path, const void *data, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, bytes), bytes);
    close(fd);
}

static void tail_returns_the_last_ten_clean_lines(void **state)
{
    static const struct {
        const char *content, *tail;
    } cases[] = {
        {"", ""},
        {"\n\n", ""},
        {"one", "one"},
        {"one\ntwo\n", "one\ntwo"},
        {"a\n\nb\n", "a\n\nb"},
        {"10%\r50%\r100%\ndone\n", "100%\ndone"},
        {"10%\r50%\r", "50%"},
        {"dos\r\nlines\r\n", "dos\nlines"},
        {"bell\a\tcolour\033[0m\n", "bell?\tcolour?[0m"},
        {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "3\n4\n5\n6\n7\n8\n9\n10\n11\n12"},
    };
    const char *path = in_dir("tail");
    char text[GW_TAIL_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(path, cases[i].content, strlen(cases[i].content));
        gw_logfile_tail(path, text);
        assert_string_equal(text, cases[i].tail);
    }
    gw_logfile_tail(in_dir("none"), text);
    assert_string_equal(text, "");
}

static void tail_of_a_long_file_fits_its_buffer(void **state)
{
    enum { BYTES = 100000 };
    char *content = malloc(BYTES), text[GW_TAIL_BYTES];
    memset(content, 'x', BYTES);
    memcpy(content + BYTES - 5, "\nend\n", 5);
    write_file(in_dir("long"), content, BYTES);
    gw_logfile_tail(in_dir("long"), text);
    assert_string_equal(text, "end"); /* the line before does not fit */
    content[BYTES - 1] = 'x';
    content[BYTES - 5] = 'x';
    write_file(in_dir("long"), content, BYTES); /* one line, longer than the buffer */
    gw_logfile_tail(in_dir("long"), text);
    assert_int_equal(strlen(text), GW_TAIL_BYTES - 1);
    free(content);
}

static void read_returns_bytes_at_an_offset_and_refuses_links(void **state)
{
    char data[8];
    uint32_t bytes = 4;
    uint64_t total = 99;
    write_file(in_dir("read"), "0123456789", 10);
    assert_int_equal(gw_logfile_read(in_dir("read"), 2, data, &bytes, &total, NULL), 0);
    assert_int_equal(bytes, 4);
    assert_int_equal(total, 10);
    assert_memory_equal(data, "2345", 4);
    bytes = 8;
    assert_int_equal(gw_logfile_read(in_dir("read"), 8, data, &bytes, &total, NULL), 0);
    assert_int_equal(bytes, 2);
    bytes = 8;
    assert_int_equal(gw_logfile_read(in_dir("read"), 50, data, &bytes, &total, NULL), 0);
    assert_int_equal(bytes, 0);
    bytes = 8;
    assert_int_equal(gw_logfile_read(in_dir("none"), 0, data, &bytes, &total, NULL), 0);
    assert_int_equal(bytes, 0);
    struct gw_error error;
    assert_int_equal(gw_logfile_read(dir, 0, data, &bytes, &total, &error), GW_EIO);
    assert_int_equal(symlink("read", in_dir("link")), 0); /* never through a link of the user */
    assert_int_equal(gw_logfile_read(in_dir("link"), 0, data, &bytes, &total, &error), GW_EIO);
}

static void move_appends_the_capture_to_the_log(void **state)
{
    char data[32];
    uint32_t bytes = sizeof data;
    uint64_t total;
    const char *from = in_dir("capture"), *to = in_dir("7/0.1.out");
    assert_int_equal(gw_logfile_move(in_dir("none"), 0, to, NULL), 0);
    write_file(from, "", 0);
    assert_int_equal(gw_logfile_move(from, 0, to, NULL), 0);
    assert_int_equal(access(to, F_OK), -1); /* an empty capture creates no file */
    write_file(from, "hello ", 6);
    assert_int_equal(gw_logfile_move(from, 0, to, NULL), 0);
    write_file(from, "world", 5);
    assert_int_equal(gw_logfile_move(from, 0, to, NULL), 0);
    assert_int_equal(gw_logfile_read(to, 0, data, &bytes, &total, NULL), 0);
    assert_int_equal(bytes, 11);
    assert_memory_equal(data, "hello world", 11);
    struct stat info;
    assert_int_equal(stat(from, &info), 0);
    assert_int_equal(info.st_size, 0);
}

static void append_writes_only_to_existing_files(void **state)
{
    char data[64] = "";
    uint32_t bytes = sizeof data;
    uint64_t total;
    struct gw_error error;
    const char *path = in_dir("append");
    (void)state;
    assert_int_equal(gw_logfile_append(path, "x\n", 2, &error), 0);
    assert_int_equal(access(path, F_OK), -1); /* a missing file is not created */
    write_file(path, "", 0);
    assert_int_equal(gw_logfile_append(path, "one\n", 4, &error), 0);
    assert_int_equal(gw_logfile_append(path, "two\n", 4, &error), 0);
    write_file(in_dir("open"), "half", 4);
    assert_int_equal(gw_logfile_append(in_dir("open"), "line\n", 5, &error), 0);
    assert_int_equal(gw_logfile_read(path, 0, data, &bytes, &total, NULL), 0);
    assert_memory_equal(data, "one\ntwo\n", 9);
    bytes = sizeof data;
    assert_int_equal(gw_logfile_read(in_dir("open"), 0, data, &bytes, &total, NULL), 0);
    assert_memory_equal(data, "half\nline\n", 10);
    assert_int_equal(symlink("append", in_dir("there")), 0); /* a user's link may lead anywhere */
    assert_int_equal(gw_logfile_append(in_dir("there"), "x\n", 2, &error), GW_EIO);
    assert_non_null(strstr(error.text, "cannot write to"));
    assert_int_equal(mkfifo(in_dir("fifo"), 0600),
                     0); /* no process reads it, and the call does not block */
    assert_int_equal(gw_logfile_append(in_dir("fifo"), "x\n", 2, &error), 0);
}

static void latest_attempt_is_found_by_file_name(void **state)
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s/9", dir);
    assert_int_equal(gw_logfile_latest(folder, 3), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file(in_dir("9/3.17.out"), "", 0);
    write_file(in_dir("9/3.42.1.err"), "", 0);
    write_file(in_dir("9/30.99.out"), "", 0);
    write_file(in_dir("9/junk"), "", 0);
    assert_int_equal(gw_logfile_latest(folder, 3), 42);
}

/* Output beyond the limit leaves a hole of the same length: the reader learns of it, and no
 * message carries its zeros. */
static void missing_part_of_a_log_is_reported_to_its_reader(void **state)
{
    char tail[GW_TAIL_BYTES], block[4096];
    uint64_t at, end;
    const char *path = in_dir("hole");
    (void)state;
    memset(block, 'x', sizeof block);
    memcpy(block + sizeof block - 12, "\nfirst\nlast\n", 12);
    write_file(path, block, sizeof block);
    assert_int_equal(truncate(path, 1 << 20), 0);
    gw_logfile_next(path, 0, &at, &end);
    assert_true(at == 0 && end == sizeof block);
    gw_logfile_next(path, end, &at, &end);
    assert_int_equal(at, 1 << 20);
    gw_logfile_tail(path, tail);
    assert_non_null(strstr(tail, "first\nlast"));
    assert_string_equal(strstr(tail, "last"), "last");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tail_returns_the_last_ten_clean_lines),
        cmocka_unit_test(tail_of_a_long_file_fits_its_buffer),
        cmocka_unit_test(read_returns_bytes_at_an_offset_and_refuses_links),
        cmocka_unit_test(move_appends_the_capture_to_the_log),
        cmocka_unit_test(append_writes_only_to_existing_files),
        cmocka_unit_test(latest_attempt_is_found_by_file_name),
        cmocka_unit_test(missing_part_of_a_log_is_reported_to_its_reader),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
