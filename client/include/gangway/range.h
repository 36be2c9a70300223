/* Ranges: one call for each of many numbers, without a list of them anywhere.
 *
 *     static int square(struct gw_task *task) { ... gw_task_arg_i64(task, 0, &i) ... }
 *     GW_TASK(square);
 *
 *     struct gw_range range = {.function = &gw_function_square, .end = 100000000};
 *     struct gw_range_result result;
 *     gw_map_range(client, &range, &run, &error);
 *     while ((rc = gw_range_next(run, UINT64_MAX, &result, &error)) == 0) {
 *         ... result.number, result.value, result.error ...
 *         gw_value_unref(result.value);
 *     }
 *     gw_range_close(run);
 *
 * Neither this process nor the scheduler holds anything for a task that has not begun, and no more
 * than `ahead` results that were not taken: a program that takes them slowly slows the tasks down.
 * What was taken costs nothing any more. */
#ifndef GANGWAY_RANGE_H
#define GANGWAY_RANGE_H

#include <gangway/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_future;

/* The numbers begin, begin + step, ... before end; step 0: 1; a negative step goes down. At most
 * 2^30 of them. Everything is borrowed until gw_map_range returns. */
struct gw_range {
    const struct gw_function *function;    /* called with the number, then arguments, then inputs */
    const struct gw_command *command;      /* or this is run: `{index}` in its arguments becomes
                                              the number, and GANGWAY_ARRAY_INDEX has it */
    const struct gw_task_options *options; /* of each task; may be NULL; its name is the job's; no
                                              `ranks`, and not `pure` */
    int64_t begin, end, step;
    struct gw_value *const *arguments; /* the same for all; no references; 64 KiB in all */
    size_t argument_count;
    struct gw_future *const *inputs; /* results (rank 0's) that each takes; may be pending */
    size_t input_count;
    uint32_t limit;        /* tasks that may run at once; 0: as many as there is room for */
    uint32_t ahead;        /* results that may wait to be taken; 0: 65536 */
    bool discard_results;  /* they are let go at once: only the end is waited for */
    bool stop_at_failure;  /* the first task that fails for good cancels the others */
    bool detached;         /* goes on when this client ends; with discard_results only */
    const uint64_t *after; /* starts when these jobs have ended, see gw_submit_options */
    size_t after_count;
    bool after_any;
    const char *key; /* of a detached one: see gw_submit_options */
};

/* A range under way. */
struct gw_range_run;

/* gw_map_range submits a range; blocks until the scheduler accepted or refused it: GW_EINVAL (no
 * number in it, a reference among the arguments, options that a range cannot have), GW_ELIMIT (too
 * many), and what gw_client_submit gives. gw_range_close gives up what was not taken, cancels what
 * has not ended (not of a detached one) and frees; accepts NULL; it must come before
 * gw_client_close. */
GW_API int gw_map_range(struct gw_client *client, const struct gw_range *range,
                        struct gw_range_run **run, struct gw_error *error);
GW_API void gw_range_close(struct gw_range_run *run);

/* How one task ended. error.code is 0 and value its value (to be unref'd), or value is NULL and
 * error the first cause. */
struct gw_range_result {
    int64_t number;
    uint32_t index; /* in the range, from 0; the task of the job */
    struct gw_value *value;
    struct gw_error error;
    int exit_code; /* of a command that failed (128 + signal), else 0 */
};

/* gw_range_next gives the next result, in the order of their ends; blocks for at most timeout_ns
 * (UINT64_MAX: for ever). 0 for a task that failed, too. GW_ENOENT: there are no more (tasks that
 * were cancelled before any worker had them give none); GW_ETIMEDOUT; GW_EINVAL with
 * discard_results; GW_ECLOSED. One thread at a time. */
GW_API int gw_range_next(struct gw_range_run *run, uint64_t timeout_ns,
                         struct gw_range_result *result, struct gw_error *error);

/* gw_range_wait blocks until all tasks have ended: 0, or the first cause of a failure;
 * GW_ETIMEDOUT. Without discard_results another thread must take the results. */
GW_API int gw_range_wait(struct gw_range_run *run, uint64_t timeout_ns, struct gw_error *error);

/* gw_range_cancel ends what runs and lets nothing more begin; it blocks for the scheduler's answer,
 * not for the end. GW_ECLOSED; GW_ENOENT where the job is known no more. gw_range_job is the job's
 * number, gw_range_count how many tasks it has. Any thread. */
GW_API int gw_range_cancel(struct gw_range_run *run, bool hard, struct gw_error *error);
GW_API uint64_t gw_range_job(const struct gw_range_run *run);
GW_API uint32_t gw_range_count(const struct gw_range_run *run);

#ifdef __cplusplus
}
#endif

#endif
