/* Private folders: created closed, refused if open to others, and removed completely but never
 * through a link. */
#include "graph/base/dir.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void touch(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void dir_remove_does_not_follow_links(void **state)
{
    char root[] = "/tmp/gangway-dir-XXXXXX";
    assert_non_null(mkdtemp(root));
    char path[PATH_MAX], retained[PATH_MAX], link_path[PATH_MAX];
    struct gw_error error = {0};
    (void)snprintf(path, sizeof path, "%s/a/b/c", root);
    assert_int_equal(gw_dir_make(path, &error), 0);
    assert_int_equal(gw_dir_make(path, &error), 0);

    (void)snprintf(retained, sizeof retained, "%s/kept", root);
    (void)snprintf(link_path, sizeof link_path, "%s/a/b/link", root);
    touch(retained);
    assert_int_equal(symlink(root, link_path), 0);
    assert_int_equal(gw_dir_make(link_path, &error), GW_EPERM);
    (void)snprintf(path, sizeof path, "%s/a", root);
    assert_int_equal(gw_dir_remove(path, &error), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(retained, F_OK), 0);
    assert_int_equal(gw_dir_remove(path, &error), 0);
    assert_int_equal(gw_dir_remove(root, &error), 0);
}

static void folder_open_to_others_is_refused(void **state)
{
    char root[] = "/tmp/gangway-dir-XXXXXX";
    assert_non_null(mkdtemp(root));
    struct gw_error error = {0};
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(gw_dir_make(root, &error), GW_EPERM);
    assert_non_null(strstr(error.text, "chmod 700"));
    assert_int_equal(gw_dir_remove(root, &error), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dir_remove_does_not_follow_links),
        cmocka_unit_test(folder_open_to_others_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
