/* What the supervisor reads in a cgroup; here a folder with the same files. */
#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "worker/supervisor/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void peak_is_that_of_the_kernel_or_unknown(void **state)
{
    struct gw_cgroup cgroup = GW_CGROUP_NONE;
    char path[128];
    assert_int_equal(gw_cgroup_peak(&cgroup), 0);
    strcpy(cgroup.path, "/tmp/gw-cgroup-XXXXXX");
    assert_non_null(mkdtemp(cgroup.path));
    assert_int_equal(gw_cgroup_peak(&cgroup), 0);
    (void)snprintf(path, sizeof path, "%.64s/memory.peak", cgroup.path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs("123456789\n", file);
    (void)fclose(file);
    assert_int_equal(gw_cgroup_peak(&cgroup), 123456789);
    assert_int_equal(gw_dir_remove(cgroup.path, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peak_is_that_of_the_kernel_or_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
