/* A subcommand that asks one thing of jobs, and has no options: `restart`, `resume`, `stop`. */
#ifndef GW_CLI_JOB_REQUEST_H
#define GW_CLI_JOB_REQUEST_H

#include "client/cli/lib/options.h"

#include <gangway/gangway.h>

struct gw_job_request {
    struct gw_options options; /* its words; without a table */
    int (*ask)(struct gw_client *client, uint64_t job, struct gw_error *error);
    const char *done; /* what to print of each job where it was done */
};

/* gw_job_request_run asks it of the jobs that the arguments select; an exit code. */
int gw_job_request_run(const struct gw_job_request *request, int argc, char **argv);

#endif
