/* The built-in health checks, and who may change the admin's program. */
#include "tests/unit/unit.h"
#include "worker/net/parts/health_machine.h"
#include "worker/net/parts/health_script.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALM                                                                                       \
    "some avg10=99.00 avg60=99.00 avg300=0.00 total=1\nfull avg10=99.00 avg60=49.99 total=1\n"

static char folder[] = "/tmp/gw-health-XXXXXX";

static void assert_says(const char *why, const char *part)
{
    if (*part ? !strstr(why, part) : *why)
        fail_msg("%s", why);
}

static void memory_fails_if_the_kernel_holds_half_or_everybody_waits(void **state)
{
    char why[GW_ERROR_TEXT_MAX];
    (void)state;
    gw_health_memory("MemTotal: 1000 kB\nSUnreclaim: 500 kB\n", CALM, why);
    assert_says(why, "");
    gw_health_memory("MemTotal: 1000 kB\nSUnreclaim: 510 kB\n", CALM, why);
    assert_says(why, "the kernel holds 51% of the memory");
    gw_health_memory("MemTotal: 1000 kB\n", "full avg10=0.00 avg60=50.00 avg300=0.00 total=1\n",
                     why);
    assert_says(why, "for 50% of the last minute");
    gw_health_memory("", "", why);
    assert_says(why, "");
}

static void clock_fails_if_it_is_too_far_from_the_schedulers(void **state)
{
    char why[GW_ERROR_TEXT_MAX];
    (void)state;
    for (int64_t sign = -1; sign <= 1; sign += 2) {
        gw_health_clock(sign * GW_HEALTH_CLOCK_NS, why);
        assert_says(why, "");
        gw_health_clock(sign * (GW_HEALTH_CLOCK_NS + 1), why);
        assert_says(why, sign < 0 ? "is 10.0 s behind the sch" : "is 10.0 s ahead of the sch");
    }
}

static void disk_fails_if_a_file_cannot_be_written(void **state)
{
    char why[GW_ERROR_TEXT_MAX];
    const struct rlimit none = {0, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    (void)state;
    gw_health_disk(folder, why);
    assert_says(why, "");
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    gw_health_disk(folder, why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_says(why, "cannot write to /tmp/gw-health-");
    gw_health_disk("/proc", why);
    assert_says(why, "cannot write to /proc: ");
    assert_int_equal(rmdir(folder), 0); /* the files are removed */
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void disk_fails_below_one_percent_or_64_mib(void **state)
{
    const uint64_t mib = 1 << 20;
    char why[GW_ERROR_TEXT_MAX];
    (void)state;
    gw_health_space("/x", 1000 * mib, 10 * mib, why);
    assert_says(why, "");
    gw_health_space("/x", 1000 * mib, 10 * mib - 1, why);
    assert_says(why,
                "the disk of /x is full: 10485759 B are free, and at least 10485760 B must be");
    gw_health_space("/x", 1000000 * mib, 64 * mib, why);
    assert_says(why, "");
    gw_health_space("/x", 1000000 * mib, 63 * mib, why);
    assert_says(why, "63.0 MiB are free, and at least 64.0 MiB must be");
}

static void disk_without_free_space_fails(void **state)
{
    char why[GW_ERROR_TEXT_MAX];
    (void)state;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", folder, "tmpfs", 0, "size=1m") < 0)
        skip();
    char path[PATH_MAX], block[4096] = {0};
    (void)snprintf(path, sizeof path, "%s/ballast", folder);
    FILE *ballast = fopen(path, "we");
    assert_non_null(ballast);
    for (int i = 0; i < 254; i++) /* of 256 blocks */
        assert_int_equal(fwrite(block, sizeof block, 1, ballast), 1);
    assert_int_equal(fclose(ballast), 0);
    gw_health_disk(folder, why);
    assert_int_equal(umount(folder), 0);
    assert_says(why, "are free, and at least 10.2 KiB must be");
}

static void program_that_others_can_change_is_refused(void **state)
{
    char path[PATH_MAX];
    struct gw_error error;
    (void)state;
    (void)snprintf(path, sizeof path, "%s/check", folder);
    assert_int_equal(gw_health_script_check("check", &error), GW_ENOENT);
    assert_int_equal(gw_health_script_check(path, &error), GW_ENOENT);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fclose(file);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(gw_health_script_check(path, &error), GW_ENOENT);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(gw_health_script_check(path, &error), 0);
    assert_int_equal(chmod(path, 0775), 0);
    assert_int_equal(gw_health_script_check(path, &error), GW_EPERM);
    assert_int_equal(chmod(path, 0757), 0);
    assert_int_equal(gw_health_script_check(path, &error), GW_EPERM);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(gw_health_script_check(path, &error), GW_EPERM);
    assert_int_equal(chmod(folder, 0700), 0);
    if (geteuid() == 0) { /* another user's */
        assert_int_equal(chown(path, 1, 1), 0);
        assert_int_equal(gw_health_script_check(path, &error), GW_EPERM);
    }
    assert_int_equal(gw_health_script_check(folder, &error), GW_EPERM); /* in /tmp */
    assert_int_equal(unlink(path), 0);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disk_fails_below_one_percent_or_64_mib),
        cmocka_unit_test(disk_without_free_space_fails),
        cmocka_unit_test(memory_fails_if_the_kernel_holds_half_or_everybody_waits),
        cmocka_unit_test(clock_fails_if_it_is_too_far_from_the_schedulers),
        cmocka_unit_test(disk_fails_if_a_file_cannot_be_written),
        cmocka_unit_test(program_that_others_can_change_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
