/* Tasks of the program in main.c, in a file of their own, which becomes a static library: only the
 * call in main.c makes the linker include this object. */
#include <gangway/gangway.h>

static int find(struct gw_task *task)
{
    double a, b;
    if (gw_task_arg_f64(task, 0, &a) < 0 || gw_task_arg_f64(task, 1, &b) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_f64(a + b));
}
GW_TASK(find);

/* The sum of all ranks, through the gang's communicator. */
static int sum_of_ranks(struct gw_task *task)
{
    int64_t sum = gw_task_rank(task) + 1;
    int rc = gw_comm_all_reduce(gw_task_comm(task),
                                GW_COMM_ARGS(.recv = &sum, .count = 1, .dtype = GW_DTYPE_I64),
                                gw_task_error(task));
    return rc < 0 ? rc : gw_task_return(task, gw_i64(sum));
}
GW_TASK(sum_of_ranks);
