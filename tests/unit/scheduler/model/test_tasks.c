/* The table of a job's tasks: rows stay unchanged while it grows, and a large table grows in place.
 */
#include "tests/unit/unit.h"

#include "scheduler/core/model/jobs/task.h"

enum { FEW = 1000, LARGE = 100000, MANY = 1000000 };

static void fill(struct gw_tasks *tasks, uint32_t upto)
{
    gw_sched_tasks_reserve(tasks, upto - tasks->count, 0);
    assert_true(tasks->capacity >= upto);
    for (; tasks->count < upto; tasks->count++) {
        tasks->attempt[tasks->count] = UINT64_C(3) * tasks->count;
        tasks->worker[tasks->count] = ~tasks->count;
        tasks->state[tasks->count] = (uint8_t)tasks->count;
    }
}

static void expect(const struct gw_tasks *tasks)
{
    for (uint32_t i = 0; i < tasks->count; i++)
        if (tasks->attempt[i] != UINT64_C(3) * i || tasks->worker[i] != ~i ||
            tasks->state[i] != (uint8_t)i)
            fail_msg("row %u of %u", i, tasks->count);
}

static void task_rows_stay_in_place_while_the_table_grows(void **state)
{
    struct gw_tasks tasks = {0};
    (void)state;
    fill(&tasks, FEW);
    fill(&tasks, LARGE);
    expect(&tasks);
    const void *block = tasks.block;
    assert_false(tasks.forgets); /* only the rows of a range are freed one by one */
    fill(&tasks, MANY);
    assert_ptr_equal(tasks.block, block);
    expect(&tasks);
    fill(&tasks, 2 * MANY); /* beyond the reserved size */
    expect(&tasks);
    gw_sched_tasks_deinit(&tasks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(task_rows_stay_in_place_while_the_table_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
