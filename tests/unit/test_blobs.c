/* The content store: what lies in it was verified; nothing half-written ever shows. */
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

static void test_put_verifies_and_opens(void **state)
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
    assert_false(gw_blobs_has(&blobs, hash));
    assert_int_equal(gw_blobs_open(&blobs, hash, &opened, &bytes, &error), GW_ENOENT);
    assert_int_equal(gw_blobs_put(&blobs, other, fd, &error), GW_ECORRUPT);
    assert_false(gw_blobs_has(&blobs, other));
    assert_int_equal(gw_blobs_put(&blobs, hash, fd, &error), 0);
    assert_true(gw_blobs_has(&blobs, hash));
    assert_int_equal(gw_blobs_open(&blobs, hash, &opened, &bytes, &error), 0);
    assert_int_equal(bytes, 5);
    close(opened);
    close(fd);
    remove_tree(dir);
}

static void test_unwritable_store_is_an_error(void **state)
{
    struct gw_blobs blobs;
    struct gw_error error = {0};
    assert_int_equal(gw_blobs_init(&blobs, "/proc/no/such/folder", &error), GW_EIO);
    assert_non_null(strstr(error.text, "/proc/no/such/folder"));
}

static void test_tokens_are_reused_and_closed(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_verifies_and_opens),
        cmocka_unit_test(test_unwritable_store_is_an_error),
        cmocka_unit_test(test_tokens_are_reused_and_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
