/* `gangway rm` removes ended jobs: their records, and their output on all hosts. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"

static int remove_job(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    struct gw_error error;
    (void)arg;
    if (gw_job_remove(client, job->job, &error) < 0)
        return gw_cli_error(&error);
    fprintf(stderr, "job %llu: removed\n", (unsigned long long)job->job);
    return GW_EXIT_OK;
}

int gw_cli_rm(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_selector_command command = {
        .options =
            {.command = "rm",
             .summary = "Remove ended jobs: their records and their output.",
             .details =
                 "JOB is a number, a list like 1,3,5-8, a name (the latest job of this name),\n"
                 "last, or all (ended jobs, or those in the given state). A job that has not\n"
                 "ended, or whose results are still in use, is refused.",
             .table = table},
        .state = "ended",
        .at_once = true,
        .each = remove_job,
    };
    return gw_selector_run(&command, argc, argv);
}
