/* `gangway stop` asks the gangs of jobs to end successfully. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/job_request.h"

int gw_cli_stop(int argc, char **argv)
{
    static const struct gw_job_request request = {
        .options = {.command = "stop",
                    .summary = "Ask the gangs of jobs to end well, with what they "
                               "have.",
                    .details = "A gang of functions returns at its next step, and that "
                               "is its result. A gang of\ncommands gets SIGTERM (or its "
                               "--signal) and ends as it likes: its job is done\nwhere "
                               "that is with 0, else failed, with its exit code (143: "
                               "SIGTERM was not\ncaught). None starts again. To end them "
                               "whatever they do: gangway cancel."},
        .ask = gw_job_stop,
        .done = "asked to stop"};
    return gw_job_request_run(&request, argc, argv);
}
