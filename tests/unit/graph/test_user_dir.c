/* A user's folders, and the kind of disk they are on. */
#include "graph/base/disk_kind.h"
#include "graph/base/user_dir.h"
#include "graph/wire/endpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static void state_folder_is_in_the_home_of_the_user(void **state)
{
    char dir[PATH_MAX], host[256], wanted[PATH_MAX];
    struct gw_error error;
    (void)state;
    assert_int_equal(gethostname(host, sizeof host), 0);
    setenv("XDG_STATE_HOME", "/s", 1);
    assert_int_equal(gw_user_dir_state(dir, &error), 0);
    snprintf(wanted, sizeof wanted, "/s/gangway/%s", host);
    assert_string_equal(dir, wanted);
    setenv("XDG_STATE_HOME", "relative", 1); /* ignored, as the XDG specification says */
    setenv("HOME", "/h", 1);
    assert_int_equal(gw_user_dir_state(dir, &error), 0);
    snprintf(wanted, sizeof wanted, "/h/.local/state/gangway/%s", host);
    assert_string_equal(dir, wanted);
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME"); /* the home known to the system */
    assert_int_equal(gw_user_dir_state(dir, &error), 0);
    assert_non_null(strstr(dir, "/.local/state/gangway/"));
}

static void runtime_folder_open_to_others_is_refused(void **state)
{
    char root[] = "/tmp/gw-runtime-XXXXXX", dir[PATH_MAX], wanted[PATH_MAX];
    struct gw_error error;
    (void)state;
    assert_non_null(mkdtemp(root));
    setenv("XDG_RUNTIME_DIR", root, 1);
    assert_int_equal(gw_user_dir_runtime(dir, &error), 0);
    snprintf(wanted, sizeof wanted, "%s/gangway", root);
    assert_string_equal(dir, wanted);
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(gw_user_dir_runtime(dir, &error), GW_EPERM);
    assert_non_null(strstr(error.text, "chmod 700"));
    assert_int_equal(rmdir(wanted), 0);
    assert_int_equal(rmdir(root), 0);
    unsetenv("XDG_RUNTIME_DIR");
}

static void socket_paths_stay_below_the_system_limit(void **state)
{
    const size_t most = sizeof((struct sockaddr_un *)0)->sun_path;
    char root[] = "/tmp/gw-runtime-XXXXXX", one[PATH_MAX], two[PATH_MAX], deep[PATH_MAX];
    struct gw_error error;
    (void)state;
    assert_non_null(mkdtemp(root));
    setenv("XDG_RUNTIME_DIR", root, 1);
    assert_int_equal(gw_user_dir_socket("/one", one, &error), 0);
    assert_int_equal(gw_user_dir_socket("/two", two, &error), 0);
    assert_string_not_equal(one, two);
    assert_int_equal(strncmp(one, root, strlen(root)), 0);
    assert_true(strlen(one) + strlen("/worker-4194304.sock") < most);
    snprintf(deep, sizeof deep, "%s/%0*d", root, (int)most, 0);
    assert_int_equal(mkdir(deep, 0700), 0);
    setenv("XDG_RUNTIME_DIR", deep, 1);
    assert_int_equal(gw_user_dir_socket("/gw-test-user-dir", two, &error), 0);
    assert_true(strlen(two) + strlen("/worker-4194304.sock") < most);
    assert_int_equal(rmdir(two), 0);
    assert_int_equal(rmdir(deep), 0);
    assert_int_equal(rmdir(one), 0);
    snprintf(one, sizeof one, "rm -r %s", root);
    assert_int_equal(system(one), 0);
    unsetenv("XDG_RUNTIME_DIR");
}

static void links_into_folders_open_to_others_are_refused(void **state)
{
    char root[] = "/tmp/gw-link-XXXXXX", path[64], link[64], named[64];
    char followed[GW_ENDPOINT_TEXT_MAX];
    struct gw_error error;
    (void)state;
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/sockets", root);
    snprintf(link, sizeof link, "%s/link", root);
    snprintf(named, sizeof named, "%s/sockets/scheduler.sock", root);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(symlink(named, link), 0);
    assert_int_equal(gw_endpoint_follow(link, followed, &error), 0);
    assert_string_equal(followed, named);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(gw_endpoint_follow(link, followed, &error), GW_EPERM);
    assert_int_equal(rmdir(path),
                     0); /* nothing there: no other user's socket can be taken for it */
    assert_int_equal(gw_endpoint_follow(link, followed, &error), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(root), 0);
}

static void disk_kind_is_derived_from_the_file_system(void **state)
{
    (void)state;
    assert_int_equal(gw_disk_kind_decide(0xEF53 /* ext4 */, ""), GW_DISK_LOCAL);
    assert_int_equal(gw_disk_kind_decide(0x794C7630 /* overlay */, ""), GW_DISK_LOCAL);
    assert_int_equal(gw_disk_kind_decide(0x01021994, "tmpfs"), GW_DISK_VOLATILE);
    assert_int_equal(gw_disk_kind_decide(0x858458F6, ""), GW_DISK_VOLATILE);
    assert_int_equal(gw_disk_kind_decide(0x6969, "nfs4"), GW_DISK_NETWORK);
    assert_int_equal(gw_disk_kind_decide(0xFE534D42, "cifs"), GW_DISK_NETWORK);
    assert_int_equal(gw_disk_kind_decide(0x65735546, "fuse.sshfs"), GW_DISK_NETWORK);
    assert_int_equal(gw_disk_kind_decide(0x65735546, "fuseblk"), GW_DISK_LOCAL);
    assert_int_equal(gw_disk_kind_of("/dev/shm/is/not/there"), gw_disk_kind_of("/dev/shm"));
    assert_int_equal(gw_disk_kind_of("nowhere"), GW_DISK_LOCAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_folder_is_in_the_home_of_the_user),
        cmocka_unit_test(runtime_folder_open_to_others_is_refused),
        cmocka_unit_test(socket_paths_stay_below_the_system_limit),
        cmocka_unit_test(links_into_folders_open_to_others_are_refused),
        cmocka_unit_test(disk_kind_is_derived_from_the_file_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
