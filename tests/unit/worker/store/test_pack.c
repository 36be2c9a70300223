/* Folders in parts: the received folder equals the sent one, or there is an error. */
#include "worker/store/pack.h"

#include "graph/base/dir.h"
#include "graph/wire/enums.h"
#include "worker/store/union.h"
#include "worker/store/unpack.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { LARGE = 2 * GW_TRANSFER_PART_BYTES + 17 };

static char top[64], from[96], beside[96], to[96];
static char *large;

static const char *at(const char *folder, const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const void *data, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, bytes), bytes);
    close(fd);
}

static void check_file(const char *path, const void *data, size_t bytes)
{
    char *got = malloc(bytes + 1);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && got);
    assert_int_equal(read(fd, got, bytes + 1), bytes);
    assert_memory_equal(got, data, bytes);
    free(got);
    close(fd);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(top, "/tmp/gw-pack-XXXXXX");
    assert_non_null(mkdtemp(top));
    snprintf(from, sizeof from, "%s/from", top);
    snprintf(beside, sizeof beside, "%s/beside", top);
    snprintf(to, sizeof to, "%s/to", top);
    assert_int_equal(mkdir(from, 0700), 0);
    assert_int_equal(mkdir(at(from, "deep"), 0700), 0);
    assert_int_equal(mkdir(at(from, "empty"), 0700), 0);
    large = malloc(LARGE);
    assert_non_null(large);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i * 7);
    write_file(at(from, "deep/large"), large, LARGE);
    write_file(at(from, "nothing"), "", 0);
    write_file(at(from, "small"), "small", 5);
    assert_int_equal(chmod(at(from, "small"), 0750), 0);
    assert_int_equal(symlink("deep/large", at(from, "latest")), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(large);
    return gw_dir_remove(top, NULL);
}

/* Transfers everything; damage: the number of a part that changes on its way; 0: none. */
static int transfer(const char *name, int damage, struct gw_unpack **unpack)
{
    struct gw_pack *pack;
    struct gw_msg_transfer_part part;
    struct gw_error error;
    int rc = gw_pack_open(from, name, &pack, &error);
    if (rc < 0)
        return rc;
    assert_int_equal(gw_unpack_open(beside, gw_pack_bytes(pack), unpack, &error), 0);
    for (int number = 1; rc == 0; number++) {
        assert_int_equal(gw_pack_next(pack, &part, &error), 0);
        char byte = '?';
        if (number == damage && part.data.size)
            part.data = (struct gw_bin){&byte, 1};
        else if (number == damage)
            part.mode ^= 1;
        rc = gw_unpack_take(*unpack, &part, &error);
    }
    gw_pack_close(pack);
    return rc;
}

static void check_all(void)
{
    struct stat small, other;
    char link[32] = "";
    check_file(at(to, "deep/large"), large, LARGE);
    check_file(at(to, "nothing"), "", 0);
    assert_int_equal(stat(at(to, "small"), &small), 0);
    assert_int_equal(stat(at(from, "small"), &other), 0);
    assert_int_equal(small.st_mode, other.st_mode);
    assert_int_equal(small.st_mtim.tv_sec, other.st_mtim.tv_sec);
    assert_int_equal(small.st_mtim.tv_nsec, other.st_mtim.tv_nsec);
    assert_int_equal(stat(at(to, "empty"), &other), 0);
    assert_int_equal(readlink(at(to, "latest"), link, sizeof link), strlen("deep/large"));
    assert_string_equal(link, "deep/large");
}

static void transferred_folder_arrives_complete(void **state)
{
    struct gw_unpack *unpack;
    struct gw_error error;
    (void)state;
    assert_int_equal(transfer(NULL, 0, &unpack), 1);
    assert_int_equal(mkdir(to, 0700), 0);
    write_file(at(to, "small"), "older", 5);
    write_file(at(to, "own"), "own", 3);
    assert_int_equal(gw_unpack_lay(unpack, to, &error), 0);
    gw_unpack_close(unpack);
    check_all();
    check_file(at(to, "small"), "small", 5);
    check_file(at(to, "own"), "own", 3); /* other files stay */
    assert_int_equal(access(beside, F_OK), -1);
}

static void transferred_folder_can_replace_the_target(void **state)
{
    struct gw_unpack *unpack;
    struct gw_error error;
    (void)state;
    assert_int_equal(transfer(NULL, 0, &unpack), 1);
    assert_int_equal(mkdir(to, 0700), 0);
    write_file(at(to, "own"), "own", 3);
    assert_int_equal(gw_unpack_replace(unpack, to, &error), 0);
    gw_unpack_close(unpack);
    check_all();
    assert_int_equal(access(at(to, "own"), F_OK), -1);
}

static void single_file_can_be_transferred(void **state)
{
    struct gw_unpack *unpack;
    struct gw_error error;
    (void)state;
    assert_int_equal(transfer("absent", 0, &unpack), GW_ENOENT);
    assert_int_equal(transfer("small", 0, &unpack), 1);
    assert_int_equal(gw_unpack_lay(unpack, to, &error), 0);
    gw_unpack_close(unpack);
    check_file(at(to, "small"), "small", 5);
    assert_int_equal(access(at(to, "nothing"), F_OK), -1);
}

/* Damages each part in turn, and the hash itself. */
static void damaged_transfer_is_detected(void **state)
{
    (void)state;
    for (int part = 1; part <= 9; part++) {
        struct gw_unpack *unpack;
        int rc = transfer(NULL, part, &unpack);
        assert_true(rc == GW_ECORRUPT);
        gw_unpack_close(unpack);
    }
}

static void folder_changed_during_transfer_returns_eagain(void **state)
{
    struct gw_pack *pack;
    struct gw_msg_transfer_part part;
    struct gw_error error;
    int rc = 0;
    (void)state;
    assert_int_equal(gw_pack_open(from, NULL, &pack, &error), 0);
    assert_int_equal(gw_pack_files(pack), 3);
    assert_int_equal(gw_pack_bytes(pack), LARGE + 5);
    assert_int_equal(truncate(at(from, "deep/large"), 100), 0);
    do {
        rc = gw_pack_next(pack, &part, &error);
    } while (rc == 0 && part.kind != GW_TRANSFER_END);
    assert_int_equal(rc, GW_EAGAIN);
    gw_pack_close(pack);
}

/* Parts from a peer cannot lead outside the target folder, and must arrive in order. */
static void hostile_transfer_parts_are_refused(void **state)
{
    static const struct gw_msg_transfer_part bad[] = {
        {.kind = GW_TRANSFER_FILE, .path = "../out"},
        {.kind = GW_TRANSFER_FILE, .path = "/tmp/out"},
        {.kind = GW_TRANSFER_FOLDER, .path = "a/../b"},
        {.kind = GW_TRANSFER_FILE, .path = ""},
        {.kind = GW_TRANSFER_LINK, .path = ".."},
        {.kind = GW_TRANSFER_FILE, .path = "a//b"},
        {.kind = GW_TRANSFER_MORE, .path = ""},
        {.kind = 0, .path = "a"},
        {.kind = GW_TRANSFER_END + 1, .path = "a"},
        {.kind = GW_TRANSFER_FILE, .path = "a/"},
    };
    struct gw_unpack *unpack;
    struct gw_error error;
    (void)state;
    assert_int_equal(gw_unpack_open(beside, 0, &unpack, &error), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(gw_unpack_take(unpack, &bad[i], &error), GW_EPROTO);
    const struct gw_msg_transfer_part link = {.kind = GW_TRANSFER_LINK,
                                              .path = "way",
                                              .data = {"/", 1}},
                                      through = {.kind = GW_TRANSFER_FILE, .path = "way/tmp/out"};
    assert_int_equal(gw_unpack_take(unpack, &link, &error), 0);
    assert_int_equal(gw_unpack_take(unpack, &through, &error), GW_EPROTO);
    gw_unpack_close(unpack);
    assert_int_equal(gw_unpack_open(beside, UINT64_C(1) << 60, &unpack, &error), GW_ELIMIT);
    assert_non_null(strstr(error.text, "not enough disk space"));
}

static void folder_stamp_changes_with_its_content(void **state)
{
    (void)state;
    uint64_t before = gw_pack_stamp(from);
    assert_true(before != 0 && gw_pack_stamp(from) == before);
    write_file(at(from, "deep/new"), "x", 1);
    uint64_t after = gw_pack_stamp(from);
    assert_true(after != before);
    write_file(at(from, "deep/new"), "longer", 6);
    assert_true(gw_pack_stamp(from) != after);
    assert_true(gw_pack_stamp(at(top, "absent")) == 0);
}

/* Only files changed after the mark are transferred, even if their modification time is old. */
static void only_files_changed_since_the_mark_are_transferred(void **state)
{
    const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    struct gw_union_part part = {.folder = from};
    struct gw_pack *pack;
    struct gw_error error;
    (void)state;
    assert_int_equal(gw_union_mark(from), 0);
    assert_int_equal(gw_union_list(&part, gw_union_mark(from), &error), 0);
    assert_int_equal(part.count, 4); /* no mark: all of it, with the link */
    gw_union_deinit(&part);
    assert_int_equal(gw_union_set_mark(from, &error), 0);
    write_file(at(from, "deep/fresh"), "fresh", 5);
    assert_int_equal(utimensat(AT_FDCWD, at(from, "deep/fresh"), old, 0), 0);
    part.folder = from;
    assert_int_equal(gw_union_list(&part, gw_union_mark(from), &error), 0);
    assert_int_equal(part.count, 1);
    assert_string_equal(part.written[0], "deep/fresh");
    gw_union_deinit(&part);
    assert_int_equal(gw_pack_open(from, NULL, &pack, &error), 0);
    gw_pack_since(pack, gw_union_mark(from), true);
    assert_int_equal(gw_pack_files(pack), 1);
    assert_int_equal(gw_pack_bytes(pack), 5);
    gw_pack_close(pack);
}

static int join(bool differs, struct gw_error *error)
{
    struct gw_union_part parts[] = {{.folder = to, .host = "one"}, {.folder = from, .host = "two"}};
    gw_union_add(&parts[0], "same");
    gw_union_add(&parts[0], "deep/shard-0");
    gw_union_add(&parts[1],
                 "small"); /* the first folder has another version, from before the mark */
    gw_union_add(&parts[1], "same");
    gw_union_add(&parts[1], "deep/shard-1");
    if (differs)
        gw_union_add(&parts[0], "small");
    int rc = gw_union_join(parts, 2, error);
    gw_union_deinit(&parts[0]);
    gw_union_deinit(&parts[1]);
    return rc;
}

/* Of the folders of two hosts, the changed files are joined; files of the same name must be
 * equal. */
static void folders_of_two_hosts_are_joined_without_conflicts(void **state)
{
    struct gw_error error;
    (void)state;
    assert_int_equal(mkdir(to, 0700), 0);
    assert_int_equal(mkdir(at(to, "deep"), 0700), 0);
    write_file(at(to, "small"), "older", 5);
    write_file(at(from, "same"), "same", 4);
    write_file(at(to, "same"), "same", 4);
    write_file(at(from, "deep/shard-1"), "1", 1);
    write_file(at(to, "deep/shard-0"), "0", 1);
    assert_int_equal(join(true, &error), GW_EMISMATCH);
    assert_non_null(strstr(error.text, "on one and on two"));
    assert_non_null(strstr(error.text, "\"small\""));
    check_file(at(to, "small"), "older", 5);
    assert_int_equal(access(at(to, "deep/shard-1"), F_OK), -1); /* nothing was changed */
    assert_int_equal(join(false, &error), 0);
    check_file(at(to, "small"), "small", 5);
    check_file(at(to, "deep/shard-0"), "0", 1);
    check_file(at(to, "deep/shard-1"), "1", 1);
    assert_int_equal(access(at(to, "nothing"), F_OK), -1); /* the file was not written since */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(transferred_folder_arrives_complete),
        TEST(transferred_folder_can_replace_the_target),
        TEST(single_file_can_be_transferred),
        TEST(damaged_transfer_is_detected),
        TEST(folder_changed_during_transfer_returns_eagain),
        TEST(hostile_transfer_parts_are_refused),
        TEST(folder_stamp_changes_with_its_content),
        TEST(only_files_changed_since_the_mark_are_transferred),
        TEST(folders_of_two_hosts_are_joined_without_conflicts),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
