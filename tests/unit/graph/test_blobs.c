/* The content store: its content was verified, and a partial file is never visible. */
#include "graph/wire/blobs.h"
#include "graph/wire/tokens.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int content_fd(const char *text)
{
    int fd = memfd_create("content", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    return fd;
}

static void remove_tree(const char *dir)
{
    char command[PATH_MAX + 16];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

static void put_refuses_content_with_a_wrong_hash(void **state)
{
    char dir[] = "/tmp/gangway-blobs-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char below[64];
    (void)snprintf(below, sizeof below, "%s/store", dir);

    struct gw_blobs blobs;
    struct gw_error error = {0};
    uint8_t hash[GW_HASH_BYTES], other[GW_HASH_BYTES];
    assert_int_equal(gw_blobs_init(&blobs, below, &error), 0);
    gw_hash_bytes("hello", 5, hash);
    gw_hash_bytes("hellp", 5, other);
    char text[GW_HASH_TEXT_BYTES];
    gw_hash_format(hash, text);
    assert_string_equal(text, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");

    int fd = content_fd("hello");
    int opened;
    uint64_t bytes;
    assert_false(gw_blobs_has(&blobs, hash, 5));
    assert_int_equal(gw_blobs_open(&blobs, hash, &opened, &bytes, &error), GW_ENOENT);
    assert_int_equal(gw_blobs_put(&blobs, other, fd, &error), GW_ECORRUPT);
    assert_false(gw_blobs_has(&blobs, other, 5));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(gw_blobs_put(&blobs, hash, fd, &error), 0);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 5); /* the number of bytes read */
    assert_true(gw_blobs_has(&blobs, hash, 5));
    assert_false(gw_blobs_has(&blobs, hash, 6));
    assert_int_equal(gw_blobs_open(&blobs, hash, &opened, &bytes, &error), 0);
    assert_int_equal(bytes, 5);
    close(opened);
    close(fd);
    remove_tree(dir);
}

static void unwritable_blob_store_error_names_the_folder(void **state)
{
    struct gw_blobs blobs;
    struct gw_error error = {0};
    assert_int_equal(gw_blobs_init(&blobs, "/proc/no/such/folder", &error), GW_EIO);
    assert_non_null(strstr(error.text, "/proc/no/such/folder"));
}

static void descriptor_tokens_are_reused_and_closed(void **state)
{
    struct gw_tokens tokens = {0};
    uint64_t first, second, third;
    assert_int_equal(gw_tokens_add(&tokens, content_fd("a"), &first), 0);
    assert_int_equal(gw_tokens_add(&tokens, content_fd("b"), &second), 0);
    assert_true(first != 0 && second != 0 && first != second);
    int fd = gw_tokens_fd(&tokens, first);
    gw_tokens_drop(&tokens, first);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(gw_tokens_add(&tokens, content_fd("c"), &third), 0);
    assert_int_equal(third, first);
    int taken = gw_tokens_take(&tokens, third);
    gw_tokens_deinit(&tokens);
    assert_true(fcntl(taken, F_GETFD) >= 0);
    close(taken);
}

static bool keeps_nothing(const uint8_t hash[GW_HASH_BYTES], void *arg)
{
    (void)hash;
    (void)arg;
    return false;
}

static bool keeps_one(const uint8_t hash[GW_HASH_BYTES], void *arg)
{
    return memcmp(hash, arg, GW_HASH_BYTES) == 0;
}

static void put_at(const struct gw_blobs *blobs, const char *text, time_t second,
                   uint8_t hash[GW_HASH_BYTES])
{
    const struct timespec times[2] = {{.tv_sec = second}, {.tv_nsec = UTIME_OMIT}};
    char path[PATH_MAX];
    int fd = content_fd(text);
    gw_hash_bytes(text, strlen(text), hash);
    assert_int_equal(gw_blobs_put(blobs, hash, fd, NULL), 0);
    close(fd);
    gw_blobs_path(blobs, hash, path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void blob_trim_removes_the_least_recently_used(void **state)
{
    char dir[] = "/tmp/gangway-blobs-XXXXXX";
    uint8_t oldest[GW_HASH_BYTES], old[GW_HASH_BYTES], new[GW_HASH_BYTES];
    struct gw_blobs blobs;
    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(gw_blobs_init(&blobs, dir, NULL), 0);
    put_at(&blobs, "aaaaaaaaaa", 3, new);
    put_at(&blobs, "bbbbbbbbbb", 1, oldest);
    put_at(&blobs, "cccccccccc", 2, old);
    assert_int_equal(gw_blobs_trim(&blobs, 30, keeps_nothing, NULL), 30);
    assert_int_equal(gw_blobs_trim(&blobs, 25, keeps_one, oldest),
                     20); /* pinned: the next file goes */
    assert_true(gw_blobs_has(&blobs, oldest, 10) && gw_blobs_has(&blobs, new, 10));
    assert_false(gw_blobs_has(&blobs, old, 10));
    assert_int_equal(gw_blobs_trim(&blobs, 10, keeps_nothing, NULL), 10);
    assert_true(gw_blobs_has(&blobs, new, 10));
    assert_int_equal(gw_blobs_trim(&blobs, 0, keeps_one, new), 10); /* more than the limit */
    remove_tree(dir);
}

/* Between stores the file itself is linked; a file that anybody may write to is copied. */
/* Several workers of a host store the same content at the same time, and one worker links the
 * file of another. A file that is replaced has no name any more and cannot be linked. */
static void repeated_put_reuses_the_existing_blob(void **state)
{
    char dir[] = "/tmp/gangway-blobs-XXXXXX", path[PATH_MAX];
    uint8_t hash[GW_HASH_BYTES];
    struct gw_blobs blobs;
    struct stat first, then;
    uint64_t bytes;
    int fd;
    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(gw_blobs_init(&blobs, dir, NULL), 0);
    put_at(&blobs, "twice", 1, hash);
    gw_blobs_path(&blobs, hash, path);
    assert_int_equal(stat(path, &first), 0);
    fd = content_fd("twice");
    assert_int_equal(gw_blobs_put(&blobs, hash, fd, NULL), 0);
    close(fd);
    assert_int_equal(stat(path, &then), 0);
    assert_int_equal(then.st_ino, first.st_ino);
    assert_int_equal(then.st_nlink, 1);
    assert_true(then.st_atim.tv_sec > first.st_atim.tv_sec); /* it counts as used now */
    assert_int_equal(gw_blobs_open(&blobs, hash, &fd, &bytes, NULL), 0);
    assert_int_equal(gw_blobs_take(&blobs, hash, fd, NULL), 0);
    close(fd);
    assert_int_equal(stat(path, &then), 0);
    assert_int_equal(then.st_nlink, 1);
    remove_tree(dir);
}

/* A cleanup of the host may remove the store itself. */
static void put_recreates_a_removed_blob_store(void **state)
{
    char dir[] = "/tmp/gangway-blobs-XXXXXX";
    uint8_t hash[GW_HASH_BYTES];
    struct gw_blobs blobs;
    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(gw_blobs_init(&blobs, dir, NULL), 0);
    assert_int_equal(rmdir(dir), 0);
    put_at(&blobs, "here", 1, hash);
    assert_true(gw_blobs_has(&blobs, hash, 4));
    remove_tree(dir);
}

static void write_into(const struct gw_blobs *blobs, const uint8_t *hash, const char *text)
{
    char path[PATH_MAX];
    gw_blobs_path(blobs, hash, path);
    assert_int_equal(chmod(path, 0700), 0);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* The content of a store outlives workers; people and power failures can change it. */
static void changed_blob_counts_as_missing(void **state)
{
    char dir[] = "/tmp/gangway-blobs-XXXXXX", text[8] = "";
    const char *const changes[] = {"eno", "one, and more", ""};
    uint8_t hash[GW_HASH_BYTES];
    struct gw_blobs blobs;
    uint64_t bytes;
    int fd;
    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(gw_blobs_init(&blobs, dir, NULL), 0);
    put_at(&blobs, "one", 1, hash);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        assert_true(gw_blobs_has(&blobs, hash, 3));
        write_into(&blobs, hash, changes[i]);
        assert_false(gw_blobs_has(&blobs, hash, 3));
        gw_blobs_look(&blobs, hash);
        assert_false(gw_blobs_has(&blobs, hash, 3));
        put_at(&blobs, "one", 1, hash); /* replaces the damaged file */
    }
    assert_int_equal(gw_blobs_open(&blobs, hash, &fd, &bytes, NULL), 0);
    assert_int_equal(read(fd, text, sizeof text), 3);
    assert_string_equal(text, "one");
    close(fd);
    write_into(&blobs, hash, "one"); /* as a copy of the store has it */
    assert_false(gw_blobs_has(&blobs, hash, 3));
    gw_blobs_look(&blobs, hash);
    assert_true(gw_blobs_has(&blobs, hash, 3));
    remove_tree(dir);
}

static void take_links_the_file_if_its_hash_matches(void **state)
{
    char dir[] = "/tmp/gangway-blobs-XXXXXX", here[64], there[64], path[PATH_MAX];
    uint8_t hash[GW_HASH_BYTES], other[GW_HASH_BYTES];
    struct gw_blobs from, to;
    struct stat info;
    uint64_t bytes;
    int fd;
    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(here, sizeof here, "%s/here", dir);
    (void)snprintf(there, sizeof there, "%s/there", dir);
    assert_int_equal(gw_blobs_init(&from, here, NULL), 0);
    assert_int_equal(gw_blobs_init(&to, there, NULL), 0);
    put_at(&from, "shared", 1, hash);
    gw_hash_bytes("sharee", 6, other);
    assert_int_equal(gw_blobs_open(&from, hash, &fd, &bytes, NULL), 0);
    assert_int_equal(gw_blobs_take(&to, other, fd, NULL), GW_ECORRUPT);
    assert_false(gw_blobs_has(&to, other, 6));
    assert_int_equal(gw_blobs_take(&to, hash, fd, NULL), 0);
    close(fd);
    gw_blobs_path(&to, hash, path);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_nlink, 2);
    fd = content_fd("anonymous");
    gw_hash_bytes("anonymous", 9, hash);
    assert_int_equal(gw_blobs_take(&to, hash, fd, NULL), 0);
    close(fd);
    assert_true(gw_blobs_has(&to, hash, 9));
    remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blob_trim_removes_the_least_recently_used),
        cmocka_unit_test(repeated_put_reuses_the_existing_blob),
        cmocka_unit_test(put_recreates_a_removed_blob_store),
        cmocka_unit_test(changed_blob_counts_as_missing),
        cmocka_unit_test(take_links_the_file_if_its_hash_matches),
        cmocka_unit_test(put_refuses_content_with_a_wrong_hash),
        cmocka_unit_test(unwritable_blob_store_error_names_the_folder),
        cmocka_unit_test(descriptor_tokens_are_reused_and_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
