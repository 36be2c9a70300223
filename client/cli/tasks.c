/* `gangway tasks`: a line a task of a job. */
#include "client/cli/cli.h"
#include "client/cli/selector.h"
#include "client/cli/table.h"

#include <string.h>

enum { ROWS_MAX = 5000 }; /* of one answer */

static const struct gw_column columns[] = {
    {"index", "TASK", GW_CELL_NUMBER},
    {"name", "NAME", GW_CELL_TEXT},
    {"shown", "STATE", GW_CELL_TEXT},
    {"tries", "TRIES", GW_CELL_MINOR_NUMBER},
    {"where", "WORKER", GW_CELL_MINOR_TEXT},
    {"text", "WHY", GW_CELL_TEXT},
    {0},
};

static int check_state(const char *state, struct gw_error *error)
{
    /* "placed" is what --json says of those that run and of those that are queued. */
    static const char *const states[] = {"waiting", "ready",      "running", "queued", "placed",
                                         "handed",  "cancelling", "done",    "failed", "cancelled"};
    for (size_t i = 0; !state || i < sizeof states / sizeof *states; i++)
        if (!state || strcmp(state, states[i]) == 0)
            return 0;
    return gw_error_set(error, GW_EINVAL,
                        "there is no state \"%s\": they are waiting, ready, queued, running, "
                        "handed, cancelling, done, failed and cancelled",
                        state);
}

static int list(struct gw_client *client, const char *text, const char *state, bool json,
                struct gw_error *error)
{
    struct gw_selected_task task;
    struct gw_value *question, *answer;
    int rc = gw_selector_task(client, text, &task, error);
    if (rc < 0)
        return rc;
    question = gw_selector_question(&task);
    rc = state ? gw_dict_set(question, "state", gw_str(state)) : 0;
    rc = rc == 0 ? gw_client_query(client, "tasks", question, &answer, error)
                 : gw_error_set(error, rc, "out of memory");
    gw_value_unref(question);
    if (rc < 0)
        return rc;
    if (json)
        rc = gw_table_json(stdout, answer, false);
    else if (gw_value_count(answer) == 0)
        fprintf(stderr, "no tasks\n");
    else
        gw_table_print(stdout, columns, answer);
    if (gw_value_count(answer) >= ROWS_MAX)
        fprintf(stderr, "these are the first %d; --state shows fewer\n", ROWS_MAX);
    gw_value_unref(answer);
    return rc;
}

int gw_cli_tasks(int argc, char **argv)
{
    const char *state = NULL;
    bool json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"state", 's', GW_OPTION_TEXT, &state, "STATE", "only those: failed, running, waiting..."},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "tasks",
        .arguments = "JOB[/TASK]",
        .summary = "List a job's tasks, or show one.",
        .details = "JOB is a number, a name (the latest such job), or last; TASK its name or "
                   "its\nindex. A task is queued where its worker has it already and runs others "
                   "first:\nas many run there as it has slots.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1,
    };
    struct gw_client *client;
    struct gw_error error;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (check_state(state, &error) < 0 || gw_selector_task_check(argv[first], &error) < 0)
        return gw_cli_error(&error);
    exit_code = gw_cli_open(&client);
    if (exit_code)
        return exit_code;
    if (list(client, argv[first], state, json, &error) < 0)
        exit_code = gw_cli_error(&error);
    gw_client_close(client);
    return exit_code;
}
