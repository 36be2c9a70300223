/* `gangway wait`: blocks until jobs have ended; the exit code is the first failed one's. */
#include "client/cli/cli.h"
#include "client/cli/options.h"
#include "client/cli/selector.h"
#include "graph/base/clock.h"

#include <jansson.h>
#include <stdlib.h>

static void print_json(uint64_t job, int exit_code, const struct gw_error *error)
{
    json_t *line = json_pack("{s:I, s:s, s:i}", "job", (json_int_t)job, "state",
                             error->code == 0               ? "done"
                             : error->code == GW_ECANCELLED ? "cancelled"
                                                            : "failed",
                             "exit_code", exit_code);
    if (error->code)
        json_object_set_new(line, "error", json_string(error->text));
    char *text = json_dumps(line, JSON_COMPACT);
    printf("%s\n", text ? text : "{}");
    free(text);
    json_decref(line);
}

/* The exit code of one job. */
static int wait_one(struct gw_client *client, uint64_t job, uint64_t timeout_ns, bool json)
{
    struct gw_error error = {0};
    int exit_code = 0;
    int rc = gw_job_wait(client, job, timeout_ns, &exit_code, &error);
    if (rc == GW_ETIMEDOUT && exit_code == 0) {
        fprintf(stderr, "gangway: job %llu has not ended\n", (unsigned long long)job);
        return GW_EXIT_TIMEOUT;
    }
    if (rc < 0 && exit_code == 0)
        exit_code = gw_error_exit_code(&error);
    if (json)
        print_json(job, exit_code, &error);
    else if (rc < 0)
        gw_cli_print_failure(job, &error);
    return exit_code;
}

int gw_cli_wait(int argc, char **argv)
{
    uint64_t timeout_ns = 0;
    bool json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"timeout", 't', GW_OPTION_DURATION, &timeout_ns, "TIME",
         "give up after it (exit code 124)"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print a line of JSON for each"},
        {0},
    };
    const struct gw_options options = {
        .command = "wait",
        .arguments = "JOB",
        .summary =
            "Wait until jobs have ended. The exit code is that of the first one that failed.",
        .details = "JOB is a number, a list like 1,3,5-8, last, or all (that have not ended).",
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
    uint64_t begin_ns = gw_clock_now_ns();
    if (gw_selector_init(&selector, client, argv[first], true, &error) < 0)
        exit_code = gw_cli_error(&error);
    for (size_t i = 0; i < selector.count; i++) {
        uint64_t passed_ns = gw_clock_now_ns() - begin_ns;
        uint64_t left_ns = timeout_ns == 0          ? UINT64_MAX
                           : passed_ns < timeout_ns ? timeout_ns - passed_ns
                                                    : 0;
        int code = wait_one(client, selector.items[i].job, left_ns, json);
        exit_code = exit_code ? exit_code : code;
        if (code == GW_EXIT_TIMEOUT && left_ns == 0)
            break;
    }
    gw_selector_deinit(&selector);
    gw_client_close(client);
    return exit_code;
}
