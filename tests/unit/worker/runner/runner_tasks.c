/* The task functions of the tests' runners: this program is a runner, too. */
#include "tests/unit/arithmetic_tasks.h"

#include <fcntl.h>
#include <gangway/task.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int echo(struct gw_task *task)
{
    struct gw_value *value;
    int rc = gw_task_arg_value(task, 0, &value);
    return rc < 0 ? rc : gw_task_return(task, gw_value_ref(value));
}
GW_TASK(echo);

static int bytes_of(struct gw_task *task)
{
    int64_t count;
    if (gw_task_arg_i64(task, 0, &count) < 0)
        return GW_EINVAL;
    char *data = malloc((size_t)count + 1);
    memset(data, 'a' + (int)gw_task_index(task) % 26, (size_t)count);
    int rc = gw_task_return(task, gw_bytes(data, (size_t)count));
    free(data);
    return rc;
}
GW_TASK(bytes_of);

/* Waits until a line is written to the fifo. */
static int block(struct gw_task *task)
{
    const char *path;
    char byte;
    if (gw_task_arg_str(task, 0, &path) < 0)
        return GW_EINVAL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = read(fd, &byte, 1);
    close(fd);
    return got == 1 ? 0 : gw_task_fail(task, GW_EIO, "nobody came");
}
GW_TASK(block);

static int crash(struct gw_task *task)
{
    (void)task;
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return 0;
}
GW_TASK(crash);

static int fail_aloud(struct gw_task *task)
{
    return gw_task_fail(task, GW_EIO, "task %u of job %lu fails", gw_task_index(task),
                        (unsigned long)gw_task_job(task));
}
GW_TASK(fail_aloud);

static int print(struct gw_task *task)
{
    const char *text;
    if (gw_task_arg_str(task, 0, &text) < 0)
        return GW_EINVAL;
    printf("%s", text); /* without a newline at the end: it must arrive nevertheless */
    if (gw_task_arg_count(task) > 1)
        fprintf(stderr, "error of %u\n", gw_task_index(task));
    return 0;
}
GW_TASK(print);

/* What a program started by a task can see of the runner. */
static int look_around(struct gw_task *task)
{
    fflush(stdout);
    int rc = system("ls -m /proc/self/fd; echo runner: $GANGWAY_RUNNER_FD");
    return rc == 0 ? 0 : gw_task_fail(task, GW_EIO, "system: %d", rc);
}
GW_TASK(look_around);

/* Sums the numbers of all ranks; the rank in argument 0 fails instead. */
static int sum_ranks(struct gw_task *task)
{
    int64_t wrong, sum = gw_task_rank(task);
    if (gw_task_arg_i64(task, 0, &wrong) < 0)
        return GW_EINVAL;
    printf("rank %u of %u, local %u\n", gw_task_rank(task), gw_task_world(task),
           gw_task_local_rank(task));
    if (wrong == (int64_t)gw_task_rank(task))
        return gw_task_fail(task, GW_EIO, "rank %u fails", gw_task_rank(task));
    int rc = gw_comm_all_reduce(gw_task_comm(task),
                                GW_COMM_ARGS(.recv = &sum, .count = 1, .dtype = GW_DTYPE_I64),
                                gw_task_error(task));
    return rc < 0 ? rc : gw_task_return(task, gw_i64(sum));
}
GW_TASK(sum_ranks);

/* Trains until it is told to pause, saves, and returns the step; with an argument, for that many
 * steps. */
static int train(struct gw_task *task)
{
    int64_t step = 0, steps = INT64_MAX;
    double state = 0;
    if (gw_task_arg_count(task) && gw_task_arg_i64(task, 0, &steps) < 0)
        return GW_EINVAL;
    int rc = gw_checkpoint_load(task, &state, sizeof state, &step);
    if (rc == 0 && state != 0.5 * (double)step)
        return gw_task_fail(task, GW_ECORRUPT, "not the state of step %ld", (long)step);
    for (; rc == GW_CONTINUE && step < steps; step++, state += 0.5)
        rc = gw_task_step(task, step, "loss", 1.0 / (double)(step + 1));
    int saved = rc < 0 ? rc : gw_checkpoint_save(task, &state, sizeof state, step);
    return saved < 0 ? saved : gw_task_return(task, gw_i64(step * 10 + rc));
}
GW_TASK(train);
