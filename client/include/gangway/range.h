/* Ranges: one task for each of many numbers, without a list of the tasks in memory.
 *
 *     static int square(struct gw_task *task) { ... gw_task_arg_i64(task, 0, &i) ... }
 *     GW_TASK(square);
 *
 *     struct gw_range range = GW_INIT(gw_range, .function = GW_FUNCTION(square), .end = N);
 *     struct gw_range_result result;
 *     gw_map_range(client, &range, &run, &error);
 *     while ((rc = gw_range_next(run, GW_FOREVER, &result, &error)) == 0) {
 *         ... result.number, result.value, result.error ...
 *         gw_value_unref(result.value);
 *     }
 *     gw_range_close(run);
 *
 * A task that has not started needs no memory in this process or in the scheduler. At most `ahead`
 * results wait for gw_range_next; if a program takes results more slowly, tasks start more slowly.
 * A result that was taken is freed in the cluster. */
#ifndef GANGWAY_RANGE_H
#define GANGWAY_RANGE_H

#include <gangway/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_future;

/* A range: one task for each of the numbers begin, begin + step, ... below end. A step of 0 means
 * 1. With a negative step the numbers fall and stay above end. A range has at most 2^30 numbers.
 * gw_map_range borrows everything until it returns. */
struct gw_range {
    size_t struct_size;                    /* see options.h */
    const struct gw_function *function;    /* its arguments: number, `arguments`, `inputs` */
    const struct gw_command *command;      /* or a command: {index} in its words is the number */
    const struct gw_task_options *options; /* the options of each task of the range; may be NULL;
                                              `name` becomes the name of the job; `ranks` and
                                              `pure` are not allowed */
    int64_t begin, end, step;
    struct gw_value *const *arguments; /* the same for all tasks; no references; 64 KiB in all */
    size_t argument_count;
    struct gw_future *const *inputs; /* results (of a gang: rank 0's) that each task takes */
    size_t input_count;
    uint32_t limit;        /* number of tasks that may run at once; 0: no limit */
    uint32_t ahead;        /* number of results that may wait for gw_range_next; 0: 65,536 */
    bool discard_results;  /* do not keep results; use gw_range_wait to wait for the end */
    bool stop_at_failure;  /* true: if a task fails and has no retry left, the other tasks of the
                              range are cancelled */
    bool detached;         /* true: the range goes on after this client has ended; discard_results
                              must also be set */
    const uint64_t *after; /* the jobs that must end before the range starts: `after`,
                              `after_count` and `after_any` are as in gw_submit_options */
    size_t after_count;
    bool after_any;
    const char *key;             /* idempotency key of a detached range: see gw_submit_options */
    const char *account, *queue; /* as in gw_submit_options */
};
#define GW_RANGE(...) GW_POINTER(gw_range, __VA_ARGS__)

/* A submitted range; gw_map_range makes it and gw_range_close frees it. */
struct gw_range_run;

/* gw_map_range submits a range. It blocks until the scheduler has accepted or refused the range.
 * GW_EINVAL: the range has no number, a reference is among the arguments, or an option is not
 * allowed in a range. GW_ELIMIT: too many numbers. Other errors: as gw_client_submit.
 *
 * gw_range_close drops results that were not taken, cancels tasks that have not ended (not those of
 * a detached range), and frees the run. It accepts NULL. Call it before gw_client_close. */
GW_API int gw_map_range(struct gw_client *client, const struct gw_range *range,
                        struct gw_range_run **run, struct gw_error *error);
GW_API void gw_range_close(struct gw_range_run *run);

/* How one task of a range ended. If the task succeeded, error.code is 0, and value is the task's
 * result (unref it). If the task failed, value is NULL, and error is the first cause. */
struct gw_range_result {
    int64_t number;
    uint32_t index; /* index of the task in the job, which is also the index of its number in the
                       range; from 0 */
    struct gw_value *value;
    struct gw_error error;
    int exit_code; /* exit code of a command that failed (128 + the number of a signal), else 0 */
};

/* gw_range_next returns the next result, in the order in which the tasks end. It blocks for at most
 * timeout_ns (GW_FOREVER: no timeout). It returns 0 also for a failed task. GW_ENOENT: there are no
 * more results. A task that was cancelled before it reached a worker gives no result. GW_ETIMEDOUT:
 * timeout_ns has passed. GW_EINVAL: discard_results is set. GW_ECLOSED: the connection has ended.
 * Only one thread at a time may call gw_range_next on a run. */
GW_API int gw_range_next(struct gw_range_run *run, uint64_t timeout_ns,
                         struct gw_range_result *result, struct gw_error *error);

/* gw_range_wait blocks until all tasks have ended. It returns 0, or the first cause of a failure.
 * GW_ETIMEDOUT: timeout_ns has passed. Without discard_results another thread must call
 * gw_range_next meanwhile, because tasks stop when `ahead` results wait. */
GW_API int gw_range_wait(struct gw_range_run *run, uint64_t timeout_ns, struct gw_error *error);

/* gw_range_cancel cancels the running tasks, and no other task starts. It blocks for the
 * scheduler's answer, not for the end of the tasks. GW_ECLOSED: the connection has ended.
 * GW_ENOENT: the cluster no longer knows the job.
 *
 * gw_range_job returns the job's number, gw_range_count the number of tasks. Any thread may call
 * these functions. */
GW_API int gw_range_cancel(struct gw_range_run *run, bool hard, struct gw_error *error);
GW_API uint64_t gw_range_job(const struct gw_range_run *run);
GW_API uint32_t gw_range_count(const struct gw_range_run *run);

#ifdef __cplusplus
}
#endif

#endif
