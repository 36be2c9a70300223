/* `gangway restart` ends the gangs of jobs and starts them again. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/job_request.h"

int gw_cli_restart(int argc, char **argv)
{
    static const struct gw_job_request request = {
        .options =
            {.command = "restart",
             .summary = "End the gangs of jobs gently, and start them again.",
             .details =
                 "The ranks get SIGTERM, and SIGKILL after their grace time. The next attempt\n"
                 "continues from the last checkpoint. A restart counts against --max-preemptions,\n"
                 "and is refused if this limit is reached."},
        .ask = gw_job_restart,
        .done = "restarting"};
    return gw_job_request_run(&request, argc, argv);
}
