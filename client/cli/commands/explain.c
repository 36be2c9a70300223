/* `gangway explain`: says why a job or a task waits, or what it does. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "client/cli/lib/synonym.h"
#include "client/cli/lib/table.h"

#include <stdlib.h>
#include <string.h>

/* Prints the reason in one line, and each fact in a line of its own. */
static void print_parts(const struct gw_value *parts)
{
    const struct gw_value *facts = gw_value_find(parts, "facts");
    gw_table_tell(stdout, gw_table_text(parts, "reason"));
    for (size_t i = 0; facts && i < gw_value_count(facts); i++) {
        const char *fact = "";
        (void)gw_value_get_str(gw_value_at(facts, i), &fact, NULL);
        fputs("  ", stdout);
        if (strchr(fact, '\n'))
            gw_table_tell(stdout, fact); /* it ends with the last lines of an output */
        else
            gw_table_wrap(stdout, 2, fact);
    }
}

static int explain_task(struct gw_client *client, const struct gw_selected_task *task, void *arg)
{
    const bool *json = arg;
    struct gw_value *parts, *filter = gw_selector_query(task);
    struct gw_error error;
    int rc = filter ? gw_dict_set(filter, "parts", gw_bool(true)) : GW_ENOMEM;
    rc = rc < 0 ? gw_error_set(&error, rc, "out of memory")
                : gw_client_query(client, "explain", filter, &parts, &error);
    gw_value_unref(filter);
    if (rc < 0)
        return gw_cli_error(&error);
    if (!*json) {
        print_parts(parts);
    } else {
        rc = gw_dict_set(parts, "job", gw_i64((int64_t)task->job));
        if (rc == 0 && !task->whole)
            rc = gw_dict_set(parts, "index", gw_i64(task->index));
        if (rc == 0)
            rc = gw_table_json(stdout, parts, true);
        if (rc < 0)
            (void)gw_error_set(&error, rc, "out of memory");
    }
    gw_value_unref(parts);
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
        {"json", 0, GW_OPTION_FLAG, &json, NULL,
         "print one line of JSON for each: code (a word for\n"
         "programs), reason and facts"},
        {0},
    };
    const struct gw_selector_command command = {
        .options =
            {.command = "explain",
             .summary =
                 "Say why a job or a task waits, what it does, or why it failed: the reason, "
                 "then\none fact a line.",
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
