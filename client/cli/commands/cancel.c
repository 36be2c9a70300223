/* `gangway cancel`: cancels jobs or a task, gently or at once. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"

#include <string.h>

struct cancelling {
    bool now, json;
};

static int cancel_job(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    const struct cancelling *cancelling = arg;
    unsigned long long id = job->job;
    struct gw_error error;
    if (!job->ended && gw_job_cancel(client, id, cancelling->now, &error) < 0)
        return gw_cli_error(&error);
    if (cancelling->json)
        printf("{\"job\":%llu,\"cancelled\":%s}\n", id, job->ended ? "false" : "true");
    else
        fprintf(stderr, "job %llu: %s\n", id, job->ended ? "had ended already" : "cancelled");
    return GW_EXIT_OK;
}

static int say_task(const struct gw_selected_task *task, bool ended, bool json)
{
    unsigned long long id = task->job;
    if (json)
        printf("{\"job\":%llu,\"index\":%u,\"cancelled\":%s}\n", id, task->index,
               ended ? "false" : "true");
    else
        fprintf(stderr, "task %u of job %llu: %s\n", task->index, id,
                ended ? "had ended already" : "cancelled");
    return GW_EXIT_OK;
}

/* Cancels a task that has no future: a task of an array, or of a job that has ended. */
static int cancel_number(struct gw_client *client, const struct gw_selected_task *task,
                         const struct cancelling *cancelling)
{
    struct gw_value *answer, *filter = gw_selector_query(task);
    struct gw_error error;
    int rc = gw_client_query(client, "tasks", filter, &answer, &error);
    gw_value_unref(filter);
    if (rc < 0)
        return gw_cli_error(&error);
    const char *state = gw_table_text(gw_value_at(answer, 0), "state");
    bool ended = strcmp(state, "done") == 0 || strcmp(state, "failed") == 0 ||
                 strcmp(state, "cancelled") == 0;
    gw_value_unref(answer);
    if (!ended && gw_job_cancel_task(client, task->job, task->index, cancelling->now, &error) < 0)
        return gw_cli_error(&error);
    return say_task(task, ended, cancelling->json);
}

/* Cancels a task and waits until it has ended, because its slot is not free before. */
static int cancel_task(struct gw_client *client, const struct gw_selected_task *task, void *arg)
{
    const struct cancelling *cancelling = arg;
    struct gw_future *future;
    struct gw_error error;
    if (task->whole)
        return cancel_job(client, &(struct gw_selected){.job = task->job}, arg);
    int rc = gw_client_task(client, task->job, task->index, &future, &error);
    if (rc == GW_ENOTSUP || rc == GW_ENOENT)
        return cancel_number(client, task, cancelling);
    if (rc < 0)
        return gw_cli_error(&error);
    rc = gw_future_cancel(future, cancelling->now, &error);
    if (rc == 0)
        rc = gw_future_wait(future, UINT64_MAX);
    bool ended = gw_future_state(future) == GW_DONE;
    gw_future_release(future);
    if (rc < 0)
        return gw_cli_error(&error);
    return say_task(task, ended, cancelling->json);
}

int gw_cli_cancel(int argc, char **argv)
{
    struct cancelling cancelling = {0};
    const struct gw_option table[] = {
        {"now", 0, GW_OPTION_FLAG, &cancelling.now, NULL, "kill at once, without the grace time"},
        {"json", 0, GW_OPTION_FLAG, &cancelling.json, NULL, "print one line of JSON for each"},
        {0},
    };
    const struct gw_selector_command command = {
        .options =
            {.command = "cancel",
             .summary =
                 "Cancel jobs: their processes get SIGTERM, and SIGKILL after their grace time.",
             .details =
                 "JOB is a number, a list like 1,3,5-8, a name (the latest job of this name),\n"
                 "last, or all (unfinished jobs). Tasks that have ended do not change. JOB/TASK\n"
                 "(name or index) is one task, and the tasks that depend on it. In an array TASK\n"
                 "is the index, from 0; the task need not have started.",
             .table = table},
        .unfinished = true,
        .at_once = true,
        .each = cancel_job,
        .task = cancel_task,
        .arg = &cancelling,
    };
    return gw_selector_run(&command, argc, argv);
}
