/* A subcommand without options that sends one request for each selected job: `restart`, `resume`,
 * `stop`. */
#ifndef GW_CLI_JOB_REQUEST_H
#define GW_CLI_JOB_REQUEST_H

#include "client/cli/lib/options.h"

#include <gangway/gangway.h>

struct gw_job_request {
    struct gw_options options; /* name and help texts; without a table of options */
    int (*ask)(struct gw_client *client, uint64_t job, struct gw_error *error);
    const char *done; /* printed after the number of each job whose request succeeded */
};

/* gw_job_request_run sends the request of a command (for example pause) for each job that the
 * command's arguments select. Returns the exit code. */
int gw_job_request_run(const struct gw_job_request *request, int argc, char **argv);

#endif
