/* `gangway retry`: runs the failed tasks of a job again, and the tasks that did not run because of
 * them.
 *
 * The command gets the futures of all failed tasks, and waits until they have failed, before it
 * retries the first. So a task that runs again because of another counts as retried too. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"

#include <stdlib.h>
#include <string.h>

#define TOLD_NS (30 * UINT64_C(1000000000)) /* time to learn how a task ended */

/* Futures of the tasks that failed or were cancelled. */
struct failed {
    struct gw_future **futures;
    size_t count;
};

static bool is_done(struct gw_client *client, uint64_t job, uint32_t index)
{
    struct gw_value *answer = NULL;
    struct gw_value *filter =
        gw_selector_query(&(struct gw_selected_task){.job = job, .index = index});
    bool done = gw_client_query(client, "tasks", filter, &answer, NULL) == 0 &&
                strcmp(gw_table_text(gw_value_at(answer, 0), "state"), "done") == 0;
    gw_value_unref(answer);
    gw_value_unref(filter);
    return done;
}

static int add(struct gw_client *client, struct failed *failed, uint64_t job, uint32_t index,
               struct gw_error *error)
{
    struct gw_future **more =
        realloc(failed->futures, (failed->count + 1) * sizeof *failed->futures);
    if (!more)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    failed->futures = more;
    int rc = gw_client_task(client, job, index, &more[failed->count], error);
    if (rc == GW_ENOENT && is_done(client, job, index))
        return gw_error_set(error, GW_EINVAL,
                            "task %u of job %llu has succeeded: only a failed task can run again",
                            index, (unsigned long long)job);
    if (rc == 0 && gw_future_wait(more[failed->count++], TOLD_NS) == GW_ETIMEDOUT)
        rc = gw_error_set(error, GW_ETIMEDOUT,
                          "task %u of job %llu has not ended: only a failed task can run again",
                          index, (unsigned long long)job);
    return rc;
}

static int add_state(struct gw_client *client, struct failed *failed, uint64_t job,
                     const char *state, struct gw_error *error)
{
    struct gw_listing *tasks;
    const struct gw_task_row *task;
    int rc = gw_listing_new(client, GW_LISTING_TASKS,
                            GW_LISTING_OPTIONS(.job = job, .state = state), &tasks, error);
    if (rc < 0)
        return rc;
    while (rc == 0 && (rc = gw_listing_next_task(tasks, &task, error)) > 0)
        rc = add(client, failed, job, task->index, error);
    gw_listing_free(tasks);
    return rc;
}

static int run_again(struct failed *failed, uint64_t job, struct gw_error *error)
{
    int rc = 0;
    if (failed->count == 0)
        return gw_error_set(error, GW_EINVAL,
                            "job %llu has no failed task, so there is nothing to run again",
                            (unsigned long long)job);
    for (size_t i = 0; i < failed->count && rc == 0; i++)
        rc = gw_future_retry(failed->futures[i], error);
    return rc;
}

static void say_again(uint64_t job, size_t tasks)
{
    fprintf(stderr, "job %llu: %zu task%s run%s again\n", (unsigned long long)job, tasks,
            tasks == 1 ? "" : "s", tasks == 1 ? "s" : "");
}

static void release(struct failed *failed)
{
    for (size_t i = 0; i < failed->count; i++)
        gw_future_release(failed->futures[i]);
    free(failed->futures);
}

static int finish(struct failed *failed, uint64_t job, int rc, const struct gw_error *error)
{
    if (rc == 0)
        say_again(job, failed->count);
    release(failed);
    return rc < 0 ? gw_cli_error(error) : GW_EXIT_OK;
}

/* Retries an array. Its tasks have no futures, and tasks that did not start are not listed. */
static int retry_array(struct gw_client *client, const struct gw_selected_task *task)
{
    struct gw_error error;
    uint32_t tasks = 1;
    int rc = task->whole ? gw_job_retry(client, task->job, &tasks, &error)
                         : gw_job_retry_task(client, task->job, task->index, &error);
    if (rc < 0)
        return gw_cli_error(&error);
    say_again(task->job, tasks);
    return GW_EXIT_OK;
}

static int retry_job(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    struct failed failed = {0};
    struct gw_error error;
    (void)arg;
    int rc = add_state(client, &failed, job->job, "failed", &error);
    if (rc == 0)
        rc = add_state(client, &failed, job->job, "cancelled", &error);
    if (rc == GW_ENOTSUP || (rc == 0 && failed.count == 0)) {
        release(&failed);
        return retry_array(client, &(struct gw_selected_task){.job = job->job, .whole = true});
    }
    if (rc == 0)
        rc = run_again(&failed, job->job, &error);
    return finish(&failed, job->job, rc, &error);
}

static int retry_task(struct gw_client *client, const struct gw_selected_task *task, void *arg)
{
    struct failed failed = {0};
    struct gw_error error;
    if (task->whole)
        return retry_job(client, &(struct gw_selected){.job = task->job}, arg);
    int rc = add(client, &failed, task->job, task->index, &error);
    if (rc == GW_ENOTSUP) {
        release(&failed);
        return retry_array(client, task);
    }
    if (rc == 0)
        rc = run_again(&failed, task->job, &error);
    return finish(&failed, task->job, rc, &error);
}

int gw_cli_retry(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_selector_command command = {
        .options =
            {.command = "retry",
             .summary =
                 "Run the failed and cancelled tasks of a job again, and the tasks that did not\n"
                 "run because of them.",
             .details =
                 "Finished tasks do not change. JOB is a number, a list like 1,3,5-8, a name (the\n"
                 "latest job of this name), last, or all. JOB/TASK (name or index) is one task,\n"
                 "and the failed tasks on which it depends. This works for jobs that were\n"
                 "submitted with --detach (in an array for the indices that failed or did not\n"
                 "start), and for jobs whose client is still connected. A job that came after\n"
                 "other jobs (--after) waits for those that already run again, so the oldest of\n"
                 "the given jobs is retried first.",
             .table = table},
        .by_number = true, /* a job that comes after another job waits for it only if the other
                              already runs again */
        .each = retry_job,
        .task = retry_task,
    };
    return gw_selector_run(&command, argc, argv);
}
