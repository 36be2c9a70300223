/* `gangway tasks`: prints one line for each task of a job. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"

#include <string.h>

enum { LIMIT = 5000, METRICS_MAX = 8 };

static const struct gw_column columns[] = {
    {"index", "TASK", GW_CELL_NUMBER},       {"name", "NAME", GW_CELL_TEXT},
    {"shown", "STATE", GW_CELL_TEXT},        {"tries", "TRIES", GW_CELL_MINOR_NUMBER},
    {"where", "WORKER", GW_CELL_MINOR_TEXT}, {"metric.shown", "METRIC", GW_CELL_MINOR_TEXT},
    {"text", "WHY", GW_CELL_TEXT},           {0},
};

/* Columns for the listing of running tasks. */
static const struct gw_column running_columns[] = {
    {"worker", "WORKER", GW_CELL_TEXT},
    {"job", "JOB", GW_CELL_NUMBER},
    {"index", "TASK", GW_CELL_NUMBER},
    {"rank", "RANK", GW_CELL_MINOR_NUMBER},
    {"name", "NAME", GW_CELL_TEXT},
    {"user", "USER", GW_CELL_TEXT},
    {"slots", "SLOTS", GW_CELL_MINOR_NUMBER},
    {"gpus", "GPUS", GW_CELL_MINOR_TEXT},
    {"memory_bytes", "MEMORY", GW_CELL_MINOR_SIZE},
    {"run_ns", "TIME", GW_CELL_DURATION},
    {"metric.shown", "METRIC", GW_CELL_MINOR_TEXT},
    {0},
};

/* The options of the command line. */
struct shown {
    const char *job, *state; /* job NULL: list all running tasks; state NULL: any state */
    uint32_t limit;
    bool all, results, watch, json;
};

static int check_state(const char *state, struct gw_error *error)
{
    /* With --json, the state "placed" means running or queued. */
    static const char *const states[] = {"waiting", "ready",     "running",    "queued",
                                         "placed",  "pipelined", "cancelling", "done",
                                         "failed",  "cancelled"};
    for (size_t i = 0; !state || i < sizeof states / sizeof *states; i++)
        if (!state || strcmp(state, states[i]) == 0)
            return 0;
    return gw_error_set(error, GW_EINVAL,
                        "there is no state \"%s\": the states are waiting, ready, queued, running, "
                        "pipelined, cancelling, done, failed and cancelled",
                        state);
}

/* -- Results -------------------------------------------------------------------------------------
 */

/* A table with a column for each metric, at most METRICS_MAX. */
struct results_table {
    struct gw_column columns[METRICS_MAX + 8];
    char keys[METRICS_MAX][160];
    size_t metrics;
};

static void add_metric(struct results_table *table, const char *name)
{
    char key[sizeof table->keys[0]];
    (void)snprintf(key, sizeof key, "metrics.%s", name);
    for (size_t i = 0; i < table->metrics; i++)
        if (strcmp(table->keys[i], key) == 0)
            return;
    if (table->metrics < METRICS_MAX)
        strcpy(table->keys[table->metrics++], key);
}

static void print_results(const struct gw_value *rows)
{
    struct results_table table = {.metrics = 0};
    static const struct gw_column before[] = {
        {"index", "TASK", GW_CELL_NUMBER},    {"name", "NAME", GW_CELL_TEXT},
        {"shown", "STATE", GW_CELL_TEXT},     {"exit_code", "EXIT", GW_CELL_NUMBER},
        {"run_ns", "TIME", GW_CELL_DURATION}, {"metric.step", "STEP", GW_CELL_NUMBER}};
    const size_t fixed = sizeof before / sizeof *before;
    for (size_t i = 0; i < gw_value_count(rows); i++) {
        const struct gw_value *metrics = gw_value_find(gw_value_at(rows, i), "metrics");
        for (size_t k = 0; metrics && k < gw_value_count(metrics); k++)
            add_metric(&table, gw_value_key(metrics, k));
    }
    memcpy(table.columns, before, sizeof before);
    for (size_t i = 0; i < table.metrics; i++)
        table.columns[fixed + i] =
            (struct gw_column){table.keys[i], table.keys[i] + strlen("metrics."), GW_CELL_NUMBER};
    table.columns[fixed + table.metrics] =
        (struct gw_column){"result", "RESULT", GW_CELL_MINOR_TEXT};
    gw_table_print(stdout, table.columns, rows);
}

/* -- Listing -------------------------------------------------------------------------------------
 */

static int ask(struct gw_client *client, const struct shown *shown, struct gw_value **answer,
               struct gw_error *error)
{
    struct gw_selected_task task;
    struct gw_value *filter;
    int rc = shown->job ? gw_selector_task(client, shown->job, &task, error) : 0;
    if (rc < 0)
        return rc;
    filter = shown->job ? gw_selector_query(&task) : gw_dict();
    rc = shown->state ? gw_dict_set(filter, "state", gw_str(shown->state)) : 0;
    if (rc == 0 && shown->results)
        rc = gw_dict_set(filter, "results", gw_bool(true));
    if (rc == 0 && !shown->all)
        rc = gw_dict_set(filter, "limit",
                         gw_i64((int64_t)shown->limit +
                                1)); /* one more than the limit, to see whether there are more */
    rc = rc == 0 ? gw_client_query(client, shown->job ? "tasks" : "running", filter, answer, error)
                 : gw_error_set(error, rc, "out of memory");
    gw_value_unref(filter);
    return rc;
}

/* Keeps the first `limit` rows of a list. The old list is freed. */
static int cut(struct gw_value **rows, size_t limit)
{
    struct gw_value *first = gw_list();
    int rc = first ? 0 : GW_ENOMEM;
    for (size_t i = 0; i < limit && rc == 0; i++)
        rc = gw_list_push(first, gw_value_ref(gw_value_at(*rows, i)));
    gw_value_unref(*rows);
    *rows = first;
    return rc;
}

static int list(struct gw_client *client, const struct shown *shown, struct gw_error *error)
{
    struct gw_value *rows;
    int rc = ask(client, shown, &rows, error);
    if (rc < 0)
        return rc;
    const bool more = !shown->all && gw_value_count(rows) > shown->limit;
    if (more && cut(&rows, shown->limit) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    if (shown->json)
        rc = gw_table_json(stdout, rows, shown->watch);
    else if (gw_value_count(rows) == 0)
        fprintf(stderr, shown->job ? "no tasks\n" : "no task runs\n");
    else if (shown->results)
        print_results(rows);
    else
        gw_table_print(stdout, shown->job ? columns : running_columns, rows);
    if (more)
        fprintf(stderr, "only the first %u are shown (--limit N or --all shows more%s)\n",
                shown->limit, shown->job ? "; --state shows fewer" : "");
    gw_value_unref(rows);
    return rc;
}

static int check(struct shown *shown, struct gw_error *error)
{
    if (!shown->job && (shown->state || shown->results))
        return gw_error_set(error, GW_EINVAL, "%s needs a JOB",
                            shown->state ? "--state" : "--results");
    if (shown->all && shown->limit)
        return gw_error_set(error, GW_EINVAL,
                            "--all and --limit contradict each other: give one of them");
    shown->all = shown->all || shown->limit == UINT32_MAX;
    shown->limit = shown->limit ? shown->limit : LIMIT;
    int rc = check_state(shown->state, error);
    return rc == 0 && shown->job ? gw_selector_task_check(shown->job, error) : rc;
}

int gw_cli_tasks(int argc, char **argv)
{
    struct shown shown = {0};
    int first, exit_code;
    const struct gw_option table[] = {
        {"state", 's', GW_OPTION_TEXT, &shown.state, "STATE",
         "show only tasks in this state: failed, running,\n"
         "waiting, ..."},
        {"results", 0, GW_OPTION_FLAG, &shown.results, NULL,
         "show how each task ended: exit code, time, latest\n"
         "metrics, and its result if it is small"},
        {"limit", 0, GW_OPTION_LIMIT, &shown.limit, "N",
         "show at most N tasks (default: 5000; none: all)"},
        {"all", 'a', GW_OPTION_FLAG, &shown.all, NULL, "show all, as --limit none"},
        {"watch", 'w', GW_OPTION_FLAG, &shown.watch, NULL, "repeat every 2 seconds, until Ctrl-C"},
        {"json", 0, GW_OPTION_FLAG, &shown.json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "tasks",
        .arguments = "[JOB[/TASK]]",
        .summary = "List a job's tasks, or show one task. Without JOB, list all running tasks.",
        .details =
            "JOB is a number, a name (the latest job of this name), or last; TASK is a name\n"
            "or an index. A task is queued if its worker already has it but all slots of the\n"
            "worker are in use. METRIC is the last value that gw_task_step has reported.",
        .table = table,
        .arguments_max = 1,
    };
    struct gw_client *client;
    struct gw_error error;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    shown.job = argv[first];
    if (check(&shown, &error) < 0)
        return gw_cli_error(&error);
    exit_code = gw_cli_open(&client);
    if (exit_code)
        return exit_code;
    int rc;
    do
        rc = list(client, &shown, &error);
    while (rc == 0 && shown.watch && gw_table_again(stdout));
    if (rc < 0)
        exit_code = gw_cli_error(&error);
    gw_client_close(client);
    return exit_code;
}
