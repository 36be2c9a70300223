/* `gangway explain`: says why a job or a task waits, or what it does. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "client/cli/lib/synonym.h"
#include "client/cli/lib/table.h"

#include <stdlib.h>
#include <string.h>

static int print_json(const struct gw_selected_task *task, struct gw_value *text)
{
    struct gw_value *line = gw_selector_query(task);
    gw_dict_set(line, "text", gw_value_ref(text));
    int rc = gw_table_json(stdout, line, true);
    gw_value_unref(line);
    return rc;
}

static int explain_task(struct gw_client *client, const struct gw_selected_task *task, void *arg)
{
    const bool *json = arg;
    struct gw_value *answer, *filter = gw_selector_query(task);
    struct gw_error error;
    const char *text;
    int rc = gw_client_query(client, "explain", filter, &answer, &error);
    gw_value_unref(filter);
    if (rc < 0)
        return gw_cli_error(&error);
    rc = gw_value_get_str(answer, &text, &error);
    if (rc == 0 && *json) {
        rc = print_json(task, answer);
    } else if (rc == 0) {
        gw_table_tell(stdout, text);
    }
    gw_value_unref(answer);
    return rc < 0 ? gw_cli_error(&error) : GW_EXIT_OK;
}

static int explain_job(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    return explain_task(client, &(struct gw_selected_task){.job = job->job, .whole = true}, arg);
}

int gw_cli_explain(int argc, char **argv)
{
    bool json = false;
    const struct gw_option table[] = {
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print one line of JSON for each"},
        {0},
    };
    const struct gw_selector_command command = {
        .options =
            {.command = "explain",
             .summary = "Say why a job or a task waits, what it does, or why it failed.",
             .details =
                 "JOB is a number, a list like 1,3,5-8, a name (the latest job of this name),\n"
                 "last, or all (unfinished jobs). For a job, its first waiting task is explained.\n"
                 "TASK is a name or an index.",
             .table = table,
             .synonyms = gw_synonym_explain},
        .unfinished = true,
        .each = explain_job,
        .task = explain_task,
        .arg = &json,
    };
    return gw_selector_run(&command, argc, argv);
}
