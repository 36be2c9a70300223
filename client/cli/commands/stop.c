/* `gangway stop` asks the gangs of jobs to end successfully. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/job_request.h"

int gw_cli_stop(int argc, char **argv)
{
    static const struct gw_job_request request = {
        .options =
            {.command = "stop",
             .summary = "Ask the gangs of jobs to end successfully, with their present results.",
             .details =
                 "A gang of functions returns at its next step, and the value that it returns is\n"
                 "its result. A gang of commands gets SIGTERM (or its --signal); its exit code\n"
                 "decides: 0 means success, any other code failure (143: SIGTERM was not caught).\n"
                 "No gang starts again. `gangway cancel` ends gangs that do not end."},
        .ask = gw_job_stop,
        .done = "asked to stop"};
    return gw_job_request_run(&request, argc, argv);
}
