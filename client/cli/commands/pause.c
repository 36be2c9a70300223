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
         "end gangs of functions at once, without waiting\n"
         "for their next step"},
        {0},
    };
    const struct gw_selector_command command = {
        .options =
            {.command = "pause",
             .summary = "Pause jobs: none of their tasks starts until they are resumed.",
             .details =
                 "Running tasks run to their end. A gang of functions saves a checkpoint and\n"
                 "returns at its next step. A gang of commands gets SIGTERM (or its --signal),\n"
                 "and SIGKILL after its grace time. Both continue from their checkpoint after\n"
                 "`gangway resume`. A pause does not count against the retry budget.",
             .table = table},
        .unfinished = true,
        .at_once = true,
        .each = pause_job,
        .arg = &now};
    return gw_selector_run(&command, argc, argv);
}
