/* Ranges: one call for each of many numbers, without a list of them anywhere.
 *
 *     static int square(struct gw_task *task) { ... gw_task_arg_i64(task, 0, &i) ... }
 *     GW_TASK(square);
 *
 *     struct gw_range range = {.function = GW_FUNCTION(square), .end = 100000000};
 *     struct gw_range_result result;
 *     gw_map_range(client, &range, &run, &error);
 *     while ((rc = gw_range_next(run, UINT64_MAX, &result, &error)) == 0) {
 *         ... result.number, result.value, result.error ...
 *         gw_value_unref(result.value);
 *     }
 *     gw_range_close(run);
 *
 * A task that has not started needs no memory in this process or the scheduler. At most `ahead`
 * results wait to be taken: a program that takes results slowly slows the tasks down. A result that
 * was taken needs no memory any more. */
#ifndef GANGWAY_RANGE_H
#define GANGWAY_RANGE_H

#include <gangway/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_future;

/* The numbers begin, begin + step, ... below end. step 0: 1. With a negative step the numbers fall
 * and stay above end. At most 2^30 numbers. Everything is borrowed until gw_map_range returns. */
struct gw_range {
    const struct gw_function *function;    /* called with the number, then arguments, then inputs */
    const struct gw_command *command;      /* or a command: `{index}` in its arguments becomes the
                                              number, which is also in GANGWAY_ARRAY_INDEX */
    const struct gw_task_options *options; /* of each task; may be NULL; the name is the job's; no
                                              `ranks`, not `pure` */
    int64_t begin, end, step;
    struct gw_value *const *arguments; /* the same for all tasks; no references; 64 KiB in all */
    size_t argument_count;
    struct gw_future *const *inputs; /* results (rank 0's) that each task takes; may be pending */
    size_t input_count;
    uint32_t limit;        /* tasks that may run at once; 0: no limit */
    uint32_t ahead;        /* results that may wait to be taken; 0: 65,536 */
    bool discard_results;  /* keep no results; gw_range_wait waits for the end */
    bool stop_at_failure;  /* the first final failure cancels the other tasks */
    bool detached;         /* goes on when this client ends; needs discard_results */
    const uint64_t *after; /* as in gw_submit_options */
    size_t after_count;
    bool after_any;
    const char *key; /* of a detached range: as in gw_submit_options */
};

/* A range under way. */
struct gw_range_run;

/* gw_map_range submits a range. It blocks until the scheduler has accepted or refused it.
 * GW_EINVAL: no number, a reference among the arguments, or options that a range cannot have.
 * GW_ELIMIT: too many numbers. Other errors as gw_client_submit.
 *
 * gw_range_close drops results that were not taken, cancels tasks that have not ended (not those of
 * a detached range), and frees the run. It accepts NULL. Call it before gw_client_close. */
GW_API int gw_map_range(struct gw_client *client, const struct gw_range *range,
                        struct gw_range_run **run, struct gw_error *error);
GW_API void gw_range_close(struct gw_range_run *run);

/* How one task ended. On success error.code is 0 and value is its value (unref it). On failure
 * value is NULL and error is the first cause. */
struct gw_range_result {
    int64_t number;
    uint32_t index; /* in the range, from 0; also the task's index in the job */
    struct gw_value *value;
    struct gw_error error;
    int exit_code; /* of a command that failed (128 + signal), else 0 */
};

/* gw_range_next returns the next result, in the order in which the tasks end. It blocks for at most
 * timeout_ns (UINT64_MAX: no timeout). It returns 0 also for a failed task. GW_ENOENT: no more
 * results; a task that was cancelled before a worker had it gives none. GW_ETIMEDOUT. GW_EINVAL:
 * discard_results is set. GW_ECLOSED. One thread at a time. */
GW_API int gw_range_next(struct gw_range_run *run, uint64_t timeout_ns,
                         struct gw_range_result *result, struct gw_error *error);

/* gw_range_wait blocks until all tasks have ended. It returns 0, or the first cause of a failure.
 * GW_ETIMEDOUT. Without discard_results another thread must take the results meanwhile. */
GW_API int gw_range_wait(struct gw_range_run *run, uint64_t timeout_ns, struct gw_error *error);

/* gw_range_cancel cancels the running tasks and starts no more. It blocks for the scheduler's
 * answer, not for the end of the tasks. GW_ECLOSED. GW_ENOENT: the cluster no longer knows the job.
 * gw_range_job returns the job's number, gw_range_count the number of tasks. Any thread. */
GW_API int gw_range_cancel(struct gw_range_run *run, bool hard, struct gw_error *error);
GW_API uint64_t gw_range_job(const struct gw_range_run *run);
GW_API uint32_t gw_range_count(const struct gw_range_run *run);

#ifdef __cplusplus
}
#endif

#endif
