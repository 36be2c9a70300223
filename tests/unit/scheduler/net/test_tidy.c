/* Folders of forgotten jobs are removed without blocking the loop. */
#include "scheduler/net/tidy.h"

#include "graph/base/dir.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { JOBS = 300, KNOWN_EVERY = 100, PATH_BYTES = 128 };

static bool knows(uint64_t job, void *arg)
{
    (void)arg;
    return job % KNOWN_EVERY == 0;
}

static const char *path_of(const char *dir, const char *folder, uint32_t job)
{
    static char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s/%" PRIu32, dir, folder, job);
    return path;
}

static uint32_t count(const char *dir, const char *folder)
{
    uint32_t found = 0;
    for (uint32_t job = 1; job <= JOBS; job++)
        found += access(path_of(dir, folder, job), F_OK) == 0;
    return found;
}

static void cleanup_of_old_folders_does_not_block_the_loop(void **state)
{
    char dir[] = "/tmp/gangway-tidy-XXXXXX", below[PATH_BYTES + 8];
    static const char *const folders[] = {"checkpoints", "logs"};
    uv_loop_t loop;
    struct gw_error error;
    (void)state;
    assert_non_null(mkdtemp(dir));
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t job = 1; job <= JOBS; job++) {
            (void)snprintf(below, sizeof below, "%s/0", path_of(dir, folders[i], job));
            assert_int_equal(gw_dir_make(below, &error), 0);
        }
    assert_int_equal(uv_loop_init(&loop), 0);
    struct gw_tidy *tidy =
        gw_tidy_open(&loop, &(struct gw_tidy_options){.dir = dir, .knows = knows});
    gw_tidy_look(tidy);
    gw_tidy_look(tidy); /* looks again after the first */
    assert_int_equal(count(dir, "checkpoints") + count(dir, "logs"), 2 * JOBS);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(count(dir, "checkpoints"), JOBS / KNOWN_EVERY);
    assert_int_equal(count(dir, "logs"), JOBS / KNOWN_EVERY);
    gw_tidy_close(tidy);
    (void)snprintf(below, sizeof below, "%s/.old", dir);
    assert_int_equal(access(below, F_OK), -1);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(gw_dir_remove(dir, &error), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cleanup_of_old_folders_does_not_block_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
