/* Sends one request for each selected job. */
#include "client/cli/lib/job_request.h"

#include "client/cli/lib/cli.h"
#include "client/cli/lib/selector.h"

#include <stdio.h>

static int ask_job(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    const struct gw_job_request *request = arg;
    struct gw_error error;
    if (request->ask(client, job->job, &error) < 0)
        return gw_cli_error(&error);
    fprintf(stderr, "job %llu: %s\n", (unsigned long long)job->job, request->done);
    return GW_EXIT_OK;
}

int gw_job_request_run(const struct gw_job_request *request, int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    struct gw_job_request asked = *request;
    asked.options.table = table;
    const struct gw_selector_command command = {.options = asked.options,
                                                .unfinished = true,
                                                .at_once = true,
                                                .each = ask_job,
                                                .arg = &asked};
    return gw_selector_run(&command, argc, argv);
}
