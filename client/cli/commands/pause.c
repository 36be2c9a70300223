/* `gangway pause` pauses jobs: no task of them starts until `gangway resume`. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"

static int pause_job(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    const bool *now = arg;
    struct gw_error error;
    if (gw_job_pause(client, job->job, *now, &error) < 0)
        return gw_cli_error(&error);
    gw_cli_message("job %llu: pausing (`gangway resume %llu` continues it)",
                   (unsigned long long)job->job, (unsigned long long)job->job);
    return GW_EXIT_OK;
}

int gw_cli_pause(int argc, char **argv)
{
    bool now = false;
    const struct gw_option table[] = {
        {"now", 0, GW_OPTION_FLAG, &now, NULL,
         "end gangs of functions too, and do not wait for\ntheir next step"},
        {0},
    };
    const struct gw_selector_command command = {
        .options = {.command = "pause",
                    .summary = "Have nothing of jobs start until they are resumed.",
                    .details = "Tasks that run go on to their end. A gang of functions saves and "
                               "returns at\nits next step; a gang of commands gets SIGTERM (or its "
                               "--signal), and SIGKILL\nafter its grace. Both go on from their "
                               "checkpoint when they are resumed. Nothing\nis charged.",
                    .table = table},
        .unfinished = true,
        .at_once = true,
        .each = pause_job,
        .arg = &now};
    return gw_selector_run(&command, argc, argv);
}
