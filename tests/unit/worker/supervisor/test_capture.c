/* Files for output: created late, reused while they are as good as new, limited in size. */
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "graph/wire/enums.h"
#include "worker/store/logfile.h"
#include "worker/supervisor/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static struct gw_capture capture;

static int set_up(void **state)
{
    strcpy(dir, "/tmp/gw-capture-XXXXXX");
    capture = GW_CAPTURE_CLOSED;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    gw_capture_close(&capture);
    if (capture.spare >= 0)
        close(capture.spare);
    return gw_dir_remove(dir, NULL);
}

static const char *in_dir(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static bool exists(const char *name)
{
    return access(in_dir(name), F_OK) == 0;
}

static void open_at(const char *name, uint64_t bytes_max)
{
    const struct gw_capture_options options = {.path = in_dir(name), .bytes_max = bytes_max};
    struct gw_error error;
    if (gw_capture_open(&capture, &options, &error) < 0)
        fail_msg("%s", error.text);
}

static void put(const char *text)
{
    assert_int_equal(write(capture.fd, text, strlen(text)), strlen(text));
}

static void assert_holds(const char *name, const char *wanted)
{
    char text[128] = "";
    int fd = open(in_dir(name), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) >= 0);
    close(fd);
    assert_string_equal(text, wanted);
}

static ino_t inode(void)
{
    struct stat status;
    assert_int_equal(fstat(capture.fd, &status), 0);
    assert_int_equal(status.st_size, 0);
    assert_int_equal(lseek(capture.fd, 0, SEEK_CUR), 0);
    assert_int_equal(fcntl(capture.fd, F_GETFL) & (O_APPEND | O_NONBLOCK), O_APPEND);
    return status.st_ino;
}

/* On file systems without nameless files, the files are created at once. */
static void need_nameless(void)
{
    int fd = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0)
        skip();
    close(fd);
}

static void empty_capture_file_is_reused_and_leaves_no_file(void **state)
{
    need_nameless();
    open_at("a", 0);
    ino_t first = inode();
    assert_int_equal(fcntl(capture.fd, F_SETFL, O_NONBLOCK), 0); /* a program may do so */
    assert_int_equal(lseek(capture.fd, 100, SEEK_SET), 100);
    gw_capture_close(&capture);
    assert_false(exists("a"));

    assert_int_equal(mkdir(in_dir("next"), 0700), 0);
    open_at("next/b", 0);
    assert_int_equal(inode(), first);
    put("said");
    gw_capture_close(&capture);
    assert_false(exists("a"));
    assert_holds("next/b", "said");

    open_at("c", 0);
    assert_int_not_equal(inode(), first);
    gw_capture_close(&capture);
    assert_holds("next/b", "said");
}

static void changed_capture_file_is_not_reused(void **state)
{
    need_nameless();
    open_at("a", 0);
    assert_int_equal(fchmod(capture.fd, 0400), 0);
    gw_capture_close(&capture);
    assert_int_equal(capture.spare, -1);
    open_at("b", 0);
    gw_capture_name(&capture); /* other processes may read it now */
    assert_holds("b", "");
    gw_capture_close(&capture);
    assert_int_equal(capture.spare, -1);
    assert_true(exists("b"));
}

static void capture_replaces_an_existing_file(void **state)
{
    for (int round = 0; round < 3; round++) {
        open_at("a", 0);
        put(round ? "second" : "the first");
        if (round == 2)
            gw_capture_name(&capture);
        gw_capture_close(&capture);
    }
    assert_holds("a", "second");
}

/* A cleanup of /tmp may have removed several folders. A spare file makes no difference. */
static void capture_makes_its_missing_folders(void **state)
{
    struct gw_error error;
    open_at("a", 0);
    gw_capture_close(&capture);
    const struct gw_capture_options options = {.path = in_dir("none/of/b"), .named = true};
    assert_int_equal(gw_capture_open(&capture, &options, &error), 0);
    assert_true(exists("none/of/b"));
}

static void capture_below_a_file_is_refused(void **state)
{
    struct gw_error error;
    open_at("a", 0);
    put("text");
    gw_capture_name(&capture);
    gw_capture_close(&capture);
    const struct gw_capture_options options = {.path = in_dir("a/b")};
    assert_int_equal(gw_capture_open(&capture, &options, &error), GW_ESTART);
    assert_non_null(strstr(error.text, "a/b: Not a directory"));
    assert_int_equal(capture.fd, -1);
}

static void named_capture_file_exists_from_the_start(void **state)
{
    struct gw_error error;
    const struct gw_capture_options options = {.path = in_dir("a"), .named = true};
    assert_int_equal(gw_capture_open(&capture, &options, &error), 0);
    assert_true(exists("a"));
}

static void capture_beyond_its_limit_is_omitted(void **state)
{
    static char long_text[10001];
    uint64_t at, end;
    memset(long_text, 'x', 10000);
    for (int round = 0; round < 2; round++) {
        open_at(round ? "b" : "a", 4);
        put(long_text);
        if (round == 0)
            assert_true(gw_capture_check(&capture));
        gw_capture_close(&capture);
        gw_logfile_next(in_dir(round ? "b" : "a"), 0, &at, &end);
        assert_true(at == 0 && end == 4096); /* its first block */
        gw_logfile_next(in_dir(round ? "b" : "a"), 4096, &at, &end);
        assert_int_equal(at, 12288); /* the length is known, and that the rest is missing */
    }
    open_at("c", 4);
    put("xxx");
    assert_true(gw_capture_check(&capture));
    assert_false(gw_capture_check(&capture));
    gw_capture_close(&capture);
    assert_holds("c", "xxx");
}

/* The first and the last bytes are there, at their offsets, and few bytes between. */
static void long_capture_retains_its_start_and_end(void **state)
{
    enum { LIMIT = 1 << 20, PIECE = 100000, PIECES = 50 };
    static char piece[PIECE + 1];
    struct stat status;
    uint64_t at, end;
    (void)state;
    open_at("a", LIMIT);
    for (int i = 0; i < PIECES; i++) {
        memset(piece, 'a' + i % 26, PIECE);
        put(piece);
        assert_true(gw_capture_check(&capture));
    }
    assert_int_equal(fstat(capture.fd, &status), 0);
    assert_int_equal(status.st_size, (off_t)PIECE * PIECES);
    assert_true((uint64_t)status.st_blocks * 512 < LIMIT + (256 << 10));
    gw_capture_close(&capture);
    gw_logfile_next(in_dir("a"), 0, &at, &end);
    assert_true(at == 0 && end >= LIMIT / 2 && end < LIMIT);
    gw_logfile_next(in_dir("a"), end, &at, &end);
    assert_true(at > (uint64_t)PIECE * PIECES - LIMIT && end == UINT64_MAX);
    uint32_t bytes = 1;
    char last = 0;
    assert_int_equal(
        gw_logfile_read(in_dir("a"), (uint64_t)PIECE * PIECES - 1, &last, &bytes, &at, NULL), 0);
    assert_int_equal(last, 'a' + (PIECES - 1) % 26);
}

/* -- Held ----------------------------------------------------------------------------------------
 */

enum { BLOCK = 64 << 10 };

static void open_held(uint64_t bytes_max)
{
    const struct gw_capture_options options = {
        .path = in_dir("a"), .bytes_max = bytes_max, .held = true};
    struct gw_error error;
    if (gw_capture_open(&capture, &options, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(fcntl(gw_capture_child_fd(&capture), F_SETFL, O_NONBLOCK), 0);
}

/* The process writes as much as it can; returns how much, in blocks that contain their number. */
static uint64_t write_on(uint64_t from)
{
    static char block[BLOCK];
    uint64_t bytes = from;
    for (;;) {
        memset(block, 'a' + (int)(bytes / BLOCK % 26), sizeof block);
        ssize_t put = write(gw_capture_child_fd(&capture), block, BLOCK - bytes % BLOCK);
        if (put > 0)
            bytes += (uint64_t)put;
        gw_capture_copy(&capture);
        (void)gw_capture_check(&capture);
        if (put <= 0 && gw_capture_poll_fd(&capture) < 0)
            return bytes;
    }
}

static void assert_there(uint64_t from, uint64_t end)
{
    static char block[BLOCK];
    for (uint64_t offset = from; offset < end; offset += BLOCK) {
        uint64_t at, next, total;
        uint32_t bytes = BLOCK;
        gw_logfile_next(in_dir("a"), offset, &at, &next);
        assert_int_equal(at, offset);
        assert_int_equal(gw_logfile_read(in_dir("a"), offset, block, &bytes, &total, NULL), 0);
        assert_int_equal(block[0], 'a' + (int)(offset / BLOCK % 26));
    }
}

static void process_with_held_output_waits_for_its_reader(void **state)
{
    enum { LIMIT = 1 << 20, ROUNDS = 6 };
    uint64_t bytes = 0, read = 0;
    struct stat status;
    (void)state;
    open_held(LIMIT);
    gw_capture_name(&capture);
    for (int i = 0; i < ROUNDS; i++) {
        bytes = write_on(bytes);
        assert_true(bytes >= read + GW_HELD_BYTES && bytes < read + GW_HELD_BYTES + (1 << 20));
        assert_there(read, read + GW_HELD_BYTES); /* unread output is never omitted */
        read += GW_HELD_BYTES;
        gw_capture_on_read(&capture, read);
    }
    gw_capture_close(&capture); /* with the content of the pipe */
    assert_there(read, bytes / BLOCK * BLOCK);
    assert_int_equal(stat(in_dir("a"), &status), 0);
    assert_int_equal(status.st_size, bytes);
    assert_true(status.st_blocks * 512 < LIMIT + GW_HELD_BYTES + (1 << 20));
}

static void process_with_held_output_continues_if_its_reader_disconnects(void **state)
{
    (void)state;
    open_held(1 << 20);
    uint64_t bytes = write_on(0);
    gw_capture_on_read(&capture, UINT64_MAX);
    assert_true(gw_capture_poll_fd(&capture) >= 0);
    gw_capture_copy(&capture);
    assert_true(write(gw_capture_child_fd(&capture), "more", 4) == 4);
    gw_capture_started(&capture);
    gw_capture_close(&capture);
    struct stat status;
    assert_int_equal(stat(in_dir("a"), &status), 0);
    assert_int_equal(status.st_size, bytes + 4);
    assert_true(status.st_blocks * 512 < (2 << 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(empty_capture_file_is_reused_and_leaves_no_file, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(changed_capture_file_is_not_reused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(capture_replaces_an_existing_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(capture_makes_its_missing_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(capture_below_a_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(named_capture_file_exists_from_the_start, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(capture_beyond_its_limit_is_omitted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_capture_retains_its_start_and_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_with_held_output_waits_for_its_reader, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            process_with_held_output_continues_if_its_reader_disconnects, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
