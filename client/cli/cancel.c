/* `gangway cancel`: ends jobs, gently or at once. */
#include "client/cli/cli.h"
#include "client/cli/options.h"
#include "client/cli/selector.h"

int gw_cli_cancel(int argc, char **argv)
{
    bool now = false, json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"now", 0, GW_OPTION_FLAG, &now, NULL, "kill at once, without a grace"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print a line of JSON for each"},
        {0},
    };
    const struct gw_options options = {
        .command = "cancel",
        .arguments = "JOB",
        .summary = "End jobs: their processes get SIGTERM, and SIGKILL after their grace.",
        .details =
            "JOB is a number, a list like 1,3,5-8, last, or all (that have not ended). What\n"
            "has ended already stays as it is.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1,
    };
    struct gw_client *client;
    struct gw_selector selector;
    struct gw_error error;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (gw_selector_check(argv[first], &error) < 0)
        return gw_cli_error(&error);
    exit_code = gw_cli_open(&client);
    if (exit_code)
        return exit_code;
    int rc = gw_selector_init(&selector, client, argv[first], true, &error);
    if (rc < 0)
        exit_code = gw_cli_error(&error);
    for (size_t i = 0; i < selector.count; i++) {
        unsigned long long job = selector.items[i].job;
        bool ended = selector.items[i].ended;
        rc = ended ? 0 : gw_job_cancel(client, job, now, &error);
        if (rc < 0)
            exit_code = gw_cli_error(&error);
        else if (json)
            printf("{\"job\":%llu,\"cancelled\":%s}\n", job, ended ? "false" : "true");
        else
            fprintf(stderr, "job %llu: %s\n", job, ended ? "had ended already" : "cancelled");
    }
    gw_selector_deinit(&selector);
    gw_client_close(client);
    return exit_code;
}
