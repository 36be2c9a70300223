/* `gangway resume` continues paused jobs. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/job_request.h"

int gw_cli_resume(int argc, char **argv)
{
    static const struct gw_job_request request = {
        .options = {.command = "resume", .summary = "Continue paused jobs."},
        .ask = gw_job_resume,
        .done = "resumed"};
    return gw_job_request_run(&request, argc, argv);
}
