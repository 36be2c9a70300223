/* Task functions shared by several programs; include it in a single file of a program. */
#ifndef GW_TESTS_ARITHMETIC_TASKS_H
#define GW_TESTS_ARITHMETIC_TASKS_H

#include <gangway/task.h>

static int twice(struct gw_task *task)
{
    int64_t n;
    if (gw_task_arg_i64(task, 0, &n) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_i64(2 * n));
}
GW_TASK(twice);

static int add(struct gw_task *task)
{
    double a, b;
    if (gw_task_arg_f64(task, 0, &a) < 0 || gw_task_arg_f64(task, 1, &b) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_f64(a + b));
}
GW_TASK(add);

#endif
