/* `gangway metrics`: what the tasks of a job have reported, one line for each value. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"
#include "graph/base/clock.h"

#include <string.h>
#include <time.h>

enum { LIMIT = 1000 };
#define FOLLOW_NS (200 * (long)GW_NS_PER_MS)

/* The options of the command line, and how far the listing is. */
struct shown {
    const char *task, *name; /* name NULL: all metrics */
    uint32_t limit;          /* at first, only so many rows, the latest */
    bool follow, json;
    struct gw_selected_task selected;
    int64_t seq; /* number of the last row */
    bool begun, ended;
};

static void print_row(struct shown *shown, const struct gw_value *row)
{
    const int64_t at_ns = gw_table_number(row, "time_ns");
    const time_t seconds = (time_t)(at_ns / (int64_t)GW_NS_PER_S);
    char clock[40] = "-";
    double value = 0;
    struct tm at;
    if (localtime_r(&seconds, &at))
        (void)strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &at);
    if (!shown->begun)
        printf("%s%10s  %-19s  %12s  %s\n", shown->selected.whole ? "  TASK  " : "", "STEP", "TIME",
               "VALUE", "NAME");
    shown->begun = true;
    (void)gw_value_get_f64(gw_value_find(row, "value"), &value, NULL);
    if (shown->selected.whole)
        printf("%6lld  ", (long long)gw_table_number(row, "index"));
    printf("%10lld  %-19s  %12.6g  ", (long long)gw_table_number(row, "step"), clock, value);
    gw_table_say(stdout, gw_table_text(row, "name"));
    putchar('\n');
}

static bool is_wanted(const struct shown *shown, const struct gw_value *row)
{
    return !gw_value_find(row, "end") &&
           (!shown->name || strcmp(gw_table_text(row, "name"), shown->name) == 0);
}

/* Prints the rows, of the wanted ones only the last `limit`. */
static int print(struct shown *shown, const struct gw_value *rows)
{
    const size_t count = gw_value_count(rows);
    size_t wanted = 0;
    int rc = 0;
    for (size_t i = 0; i < count; i++)
        wanted += is_wanted(shown, gw_value_at(rows, i));
    if (wanted > shown->limit)
        fprintf(stderr, "only the last %u are shown (--limit N or --limit none shows more)\n",
                shown->limit);
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct gw_value *row = gw_value_at(rows, i);
        shown->seq = gw_table_number(row, "seq");
        shown->ended = gw_value_find(row, "end") != NULL;
        if (!is_wanted(shown, row) || wanted-- > shown->limit)
            continue;
        if (shown->json)
            rc = gw_table_json(stdout, row, true);
        else
            print_row(shown, row);
    }
    shown->limit = UINT32_MAX;
    return rc;
}

static int list(struct gw_client *client, struct shown *shown, struct gw_error *error)
{
    struct gw_value *rows, *filter = gw_selector_query(&shown->selected);
    int rc = filter ? gw_dict_set(filter, "after", gw_i64(shown->seq)) : GW_ENOMEM;
    rc = rc == 0 ? gw_client_query(client, "metrics", filter, &rows, error)
                 : gw_error_set(error, rc, "out of memory");
    gw_value_unref(filter);
    if (rc < 0)
        return rc;
    rc = print(shown, rows);
    gw_value_unref(rows);
    return rc;
}

static int run(struct gw_client *client, struct shown *shown, struct gw_error *error)
{
    const struct timespec pause = {.tv_nsec = FOLLOW_NS};
    int rc = gw_selector_task(client, shown->task, &shown->selected, error);
    if (rc == 0)
        rc = list(client, shown, error);
    while (rc == 0 && shown->follow && !shown->ended) {
        if (fflush(stdout) != 0)
            return 0; /* nobody reads any more */
        (void)nanosleep(&pause, NULL);
        rc = list(client, shown, error);
    }
    if (rc == 0 && !shown->begun && !shown->json)
        fprintf(stderr, "nothing was reported\n");
    return rc;
}

int gw_cli_metrics(int argc, char **argv)
{
    struct shown shown = {.limit = LIMIT};
    int first, exit_code;
    const struct gw_option table[] = {
        {"follow", 'f', GW_OPTION_FLAG, &shown.follow, NULL,
         "print new reports until the job has ended"},
        {"name", 0, GW_OPTION_TEXT, &shown.name, "NAME", "show only this metric"},
        {"limit", 0, GW_OPTION_LIMIT, &shown.limit, "N",
         "show at most the last N reports so far\n"
         "(default: 1000; none: all)"},
        {"json", 0, GW_OPTION_FLAG, &shown.json, NULL, "print JSON, one line for each report"},
        {0},
    };
    const struct gw_options options = {
        .command = "metrics",
        .arguments = "JOB[/TASK]",
        .summary = "Show what the tasks of a job have reported.",
        .details =
            "JOB is a number, a name (the latest job of this name), or last; TASK is a name\n"
            "or an index. Reports come from `gangway report` and gw_task_step. A metric of a\n"
            "task keeps its first 4096 reports, later fewer and fewer, and always the latest.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1,
    };
    struct gw_client *client;
    struct gw_error error;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    shown.task = argv[first];
    if (gw_selector_task_check(shown.task, &error) < 0)
        return gw_cli_error(&error);
    exit_code = gw_cli_open(&client);
    if (exit_code)
        return exit_code;
    if (run(client, &shown, &error) < 0)
        exit_code = gw_cli_error(&error);
    gw_client_close(client);
    return exit_code;
}
