/* `gangway events`: the event log of a task or a job, with times. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"
#include "client/cli/lib/units.h"
#include "graph/base/clock.h"
#include "graph/base/text.h"

#include <time.h>

enum { INDENT = 24 }; /* width of "12:30:57.123 +0.077s ", less one */

/* Prints the date when it changes, so that events of different days can be distinguished. */
static void print_day(int64_t at_ns, struct tm *day)
{
    struct tm at;
    char text[32];
    time_t seconds = (time_t)(at_ns / (int64_t)GW_NS_PER_S);
    if (!at_ns || !localtime_r(&seconds, &at) ||
        (at.tm_year == day->tm_year && at.tm_yday == day->tm_yday))
        return;
    *day = at;
    strftime(text, sizeof text, "%a %Y-%m-%d", &at);
    printf("%s\n", text);
}

static void print_fact(const struct gw_value *fact, int64_t begin_ns, bool names)
{
    char clock[40] = "", since[1 + GW_TEXT_DURATION_ROOM] = "";
    int64_t at_ns = gw_table_number(fact, "at_ns");
    time_t seconds = (time_t)(at_ns / (int64_t)GW_NS_PER_S);
    uint64_t passed_ns = at_ns > begin_ns ? (uint64_t)(at_ns - begin_ns) : 0;
    struct tm at;
    if (at_ns && localtime_r(&seconds, &at)) {
        size_t length = strftime(clock, sizeof clock, "%H:%M:%S", &at);
        snprintf(clock + length, sizeof clock - length, ".%03d",
                 (int)(at_ns / (int64_t)GW_NS_PER_MS % 1000));
        since[0] = '+';
        if (passed_ns < 60 * GW_NS_PER_S)
            snprintf(since + 1, sizeof since - 1, "%.3fs", (double)passed_ns / 1e9);
        else
            gw_text_duration(passed_ns, since + 1);
    }
    printf("%-12s  %8s  ", clock, since);
    if (names && gw_value_find(fact, "index")) {
        gw_table_say(stdout, gw_table_text(fact, "name"));
        printf(" (task %lld): ", (long long)gw_table_number(fact, "index"));
    }
    gw_table_wrap(stdout, INDENT, gw_table_text(fact, "text"));
}

static void print(const struct gw_value *events)
{
    struct tm day = {.tm_year = -1};
    const struct gw_value *rows = gw_value_find(events, "events");
    int64_t begin_ns = gw_table_number(events, "submitted_ns");
    unsigned long long job = (unsigned long long)gw_table_number(events, "job");
    bool one = gw_value_find(events, "index") != NULL;
    gw_table_say(stdout, gw_table_text(events, "name"));
    if (one)
        printf(" (task %lld of job %llu)\n", (long long)gw_table_number(events, "index"), job);
    else
        printf(" (job %llu)\n", job);
    if (*gw_table_text(events, "note")) {
        fputs("note: ", stdout);
        gw_table_wrap(stdout, 6, gw_table_text(events, "note"));
    }
    for (size_t i = 0; i < gw_value_count(rows); i++) {
        const struct gw_value *fact = gw_value_at(rows, i);
        print_day(gw_table_number(fact, "at_ns"), &day);
        print_fact(fact, begin_ns, !one);
    }
    int64_t tries = gw_table_number(events, "tries");
    if (one && tries > 0)
        printf("output: gangway logs %llu/%lld%s\n", job,
               (long long)gw_table_number(events, "index"),
               tries > 1 ? " (--attempt 1, 2, ... for an earlier one)" : "");
}

struct telling {
    bool json;
    int count; /* event logs printed before this one */
};

static int events_task(struct gw_client *client, const struct gw_selected_task *task, void *arg)
{
    struct telling *telling = arg;
    struct gw_value *answer, *filter = gw_selector_query(task);
    struct gw_error error;
    int rc = gw_client_query(client, "events", filter, &answer, &error);
    gw_value_unref(filter);
    if (rc < 0)
        return gw_cli_error(&error);
    if (telling->json) {
        gw_table_json(stdout, answer, true);
    } else {
        if (telling->count++ > 0)
            putchar('\n');
        print(answer);
    }
    gw_value_unref(answer);
    return GW_EXIT_OK;
}

static int events_job(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    return events_task(client, &(struct gw_selected_task){.job = job->job, .whole = true}, arg);
}

int gw_cli_events(int argc, char **argv)
{
    struct telling telling = {0};
    const struct gw_option table[] = {
        {"json", 0, GW_OPTION_FLAG, &telling.json, NULL, "print one line of JSON for each"},
        {0},
    };
    const struct gw_selector_command command = {
        .options =
            {.command = "events",
             .summary =
                 "Show the event log of a task or a job: the time of each event, and the time\n"
                 "since the submission.",
             .details =
                 "JOB is a number, a list like 1,3,5-8, a name (the latest job of this name),\n"
                 "last, or all (unfinished jobs). For a job, the events of all its tasks are\n"
                 "shown. TASK is a name or an index. The scheduler stores a limited number of\n"
                 "events; if some may be missing, a note says so.",
             .table = table},
        .unfinished = true,
        .each = events_job,
        .task = events_task,
        .arg = &telling,
    };
    return gw_selector_run(&command, argc, argv);
}
