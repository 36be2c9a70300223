/* `gangway wait`: blocks until jobs have ended. The exit code is that of the first failed job. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "graph/base/clock.h"

#include <stdlib.h>

struct waiting {
    uint64_t timeout_ns, begin_ns; /* timeout_ns 0: no timeout; begin_ns 0: not started */
    bool json;
};

/* Waits for one job. The timeout applies to all jobs together. */
static int wait_one(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    struct waiting *waiting = arg;
    struct gw_error error = {0};
    int exit_code = 0;
    if (!waiting->begin_ns)
        waiting->begin_ns = gw_clock_now_ns();
    uint64_t passed_ns = gw_clock_now_ns() - waiting->begin_ns;
    uint64_t left_ns = waiting->timeout_ns == 0          ? UINT64_MAX
                       : passed_ns < waiting->timeout_ns ? waiting->timeout_ns - passed_ns
                                                         : 0;
    int rc = gw_job_wait(client, job->job, left_ns, &exit_code, &error);
    if (rc == GW_ETIMEDOUT && exit_code == 0) {
        fprintf(stderr, "gangway: job %llu has not ended\n", (unsigned long long)job->job);
        return GW_EXIT_TIMEOUT;
    }
    if (rc < 0 && exit_code == 0)
        exit_code = gw_error_exit_code(&error);
    if (waiting->json)
        gw_cli_print_end(job->job, exit_code, &error);
    else if (rc < 0)
        gw_cli_print_failure(job->job, &error);
    return exit_code;
}

int gw_cli_wait(int argc, char **argv)
{
    struct waiting waiting = {0};
    const struct gw_option table[] = {
        {"timeout", 0, GW_OPTION_DURATION, &waiting.timeout_ns, "TIME",
         "wait at most this long (exit code 124; 0: no\n"
         "limit)"},
        {"json", 0, GW_OPTION_FLAG, &waiting.json, NULL, "print one line of JSON for each"},
        {0},
    };
    const struct gw_selector_command command = {
        .options =
            {.command = "wait",
             .summary = "Wait until jobs have ended. The exit code is that of the first one "
                        "that failed.",
             .details =
                 "JOB is a number, a list like 1,3,5-8, a name (the latest job of this name),\n"
                 "last, or all (unfinished jobs).",
             .table = table},
        .unfinished = true,
        .each = wait_one,
        .arg = &waiting,
    };
    return gw_selector_run(&command, argc, argv);
}
