/* `gangway restart` ends the gangs of jobs and starts them again. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/job_request.h"

int gw_cli_restart(int argc, char **argv)
{
    static const struct gw_job_request request = {
        .options = {.command = "restart",
                    .summary = "End the gangs of jobs, gently, and have them start "
                               "again.",
                    .details = "Their ranks get SIGTERM, and SIGKILL after their "
                               "grace; the next attempt goes on\nfrom the last "
                               "checkpoint. Charged to --max-preemptions: where that is\n"
                               "used up it is refused."},
        .ask = gw_job_restart,
        .done = "restarting"};
    return gw_job_request_run(&request, argc, argv);
}
