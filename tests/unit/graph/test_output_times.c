/* Output times: what a reader finds, and the limit of their file. */
#include "tests/unit/unit.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/wire/output_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MANY = 100000 };

#define BEGIN_NS (UINT64_C(1700000000) * GW_NS_PER_S)

static char dir[64], path[80];

static int set_up(void **state)
{
    strcpy(dir, "/tmp/gw-times-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/out", dir);
    return 0;
}

static int tear_down(void **state)
{
    return gw_dir_remove(dir, NULL);
}

static uint64_t at(uint64_t ms)
{
    return BEGIN_NS + ms * GW_NS_PER_MS;
}

static void found(uint64_t offset, uint64_t at_ns, uint64_t end)
{
    struct gw_output_times_found found;
    gw_output_times_find(path, offset, 0, &found);
    assert_true(found.known);
    assert_int_equal(found.at_ns, at_ns);
    assert_int_equal(found.end, end);
    assert_int_equal(found.since, 0);
}

static uint64_t since(uint64_t since_ns)
{
    struct gw_output_times_found found;
    gw_output_times_find(path, 0, since_ns, &found);
    return found.since;
}

static void reader_finds_the_time_of_each_byte(void **state)
{
    struct gw_output_times times = {0};
    gw_output_times_add(&times, path, 10, at(0));
    gw_output_times_add(&times, path, 10, at(500)); /* nothing new */
    gw_output_times_add(&times, path, 25, at(1000));
    found(0, at(0), 10);
    found(9, at(0), 10);
    found(10, at(1000), 25);
    found(25, 0, UINT64_MAX);
    assert_int_equal(since(at(0)), 0);
    assert_int_equal(since(at(1)), 10);
    assert_int_equal(since(at(1001)), 25);
}

static void output_without_times_is_unknown(void **state)
{
    struct gw_output_times_found found;
    gw_output_times_find(path, 0, at(0), &found);
    assert_false(found.known);
    assert_int_equal(found.at_ns, 0);
    assert_int_equal(found.since, 0);
}

static void entries_that_are_close_together_become_one(void **state)
{
    struct gw_output_times times = {0};
    for (uint64_t i = 0; i < 100; i++)
        gw_output_times_add(&times, path, i + 1, at(10 * i));
    assert_in_range(times.count, 9, 12);
    found(99, at(990), 100);
}

/* Each entry that is left is true: a byte is never shown with a time before it was written. */
static void number_of_entries_is_limited(void **state)
{
    struct gw_output_times times = {0};
    struct gw_output_times_found found;
    struct stat status;
    char file[96];
    for (uint64_t i = 0; i < MANY; i++)
        gw_output_times_add(&times, path, i + 1, at(100 * i));
    snprintf(file, sizeof file, "%s" GW_OUTPUT_TIMES, path);
    assert_int_equal(stat(file, &status), 0);
    assert_true(status.st_size <= (off_t)(GW_OUTPUT_TIMES_MAX * sizeof(struct gw_output_time)));
    for (uint64_t i = 0; i < MANY; i += 777) {
        gw_output_times_find(path, i, 0, &found);
        assert_in_range(found.at_ns, at(100 * i), at(100 * i + 100 * MANY / 1000));
    }
    assert_in_range(since(at(100 * 5000)), 5000 - MANY / 1000, 5000);
}

static void a_shorter_output_begins_anew(void **state)
{
    struct gw_output_times times = {0};
    gw_output_times_add(&times, path, 10, at(0));
    gw_output_times_add(&times, path, 20, at(1000));
    gw_output_times_add(&times, path, 5, at(2000));
    found(0, at(2000), 5);
    found(5, 0, UINT64_MAX);
    times = (struct gw_output_times){0}; /* another process with the same file */
    gw_output_times_add(&times, path, 30, at(3000));
    found(0, at(3000), 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reader_finds_the_time_of_each_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(output_without_times_is_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(entries_that_are_close_together_become_one, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(number_of_entries_is_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_shorter_output_begins_anew, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
