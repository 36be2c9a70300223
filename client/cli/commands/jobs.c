/* `gangway jobs`: prints one line for each job, the newest first. */
#include "client/cli/commands/commands.h"
#include "client/cli/commands/usage.h"

#include "client/cli/lib/options.h"
#include "client/cli/lib/selector.h"
#include "client/cli/lib/synonym.h"
#include "client/cli/lib/table.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT = 50 };

static const struct gw_column columns[] = {
    {"id", "JOB", GW_CELL_NUMBER},
    {"name", "NAME", GW_CELL_TEXT},
    {"state", "STATE", GW_CELL_TEXT},
    {"tasks", "TASKS", GW_CELL_MINOR_NUMBER},
    {"running", "RUNNING", GW_CELL_MINOR_NUMBER},
    {"done", "DONE", GW_CELL_NUMBER},
    {"failed", "FAILED", GW_CELL_NUMBER},
    {"ranks", "RANKS", GW_CELL_MINOR_NUMBER},
    {"tries", "TRIES", GW_CELL_MINOR_NUMBER},
    {"progress.shown", "PROGRESS", GW_CELL_MINOR_TEXT},
    {"metric.shown", "METRIC", GW_CELL_MINOR_TEXT},
    {"submitted_ns", "AGE", GW_CELL_SINCE},
    {"user", "USER", GW_CELL_MINOR_TEXT},
    {"session", "CLIENT", GW_CELL_MINOR_TEXT},
    {0},
};

/* The options of the command line. */
struct shown {
    struct gw_selector_scope scope;
    struct gw_option_texts where;
    const char *state;
    uint64_t since_ns; /* submitted since this time; 0: at any time */
    uint64_t until_ns; /* with `ended`: ended before this time; 0: now */
    uint32_t limit;    /* UINT32_MAX: no limit */
    bool all, json, csv, watch;
    bool ended;  /* from the accounting, which outlasts the history */
    char **jobs; /* NULL-terminated; empty: all jobs */
};

/* The rows to be printed, and the number of further jobs. */
struct found {
    struct gw_value *rows;
    uint64_t more;
};

static int read_where(const struct gw_option_texts *where, struct gw_value *pairs,
                      struct gw_error *error)
{
    for (size_t i = 0; i < where->count; i++) {
        const char *text = where->items[i], *value = strchr(text, '=');
        char name[128];
        size_t length = value ? (size_t)(value - text) : 0;
        if (length == 0 || length >= sizeof name)
            return gw_error_set(error, GW_EINVAL, "--where %s: give the annotation as NAME=VALUE",
                                text);
        memcpy(name, text, length);
        name[length] = '\0';
        if (gw_dict_set(pairs, name, gw_str(value + 1)) < 0)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    return 0;
}

/* Adds the filters of the options to the arguments of a query. If it fails, it frees the arguments
 * and sets them to NULL. */
static int narrow(const struct shown *shown, struct gw_value **arguments, struct gw_error *error)
{
    struct gw_value *pairs = gw_dict();
    int rc = *arguments && pairs ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    rc = rc == 0 ? read_where(&shown->where, pairs, error) : rc;
    int set = 0;
    if (rc == 0 && shown->where.count)
        set = gw_dict_set(*arguments, "where", gw_value_ref(pairs));
    if (rc == 0 && set == 0 && shown->state)
        set = gw_dict_set(*arguments, "state", gw_str(shown->state));
    if (rc == 0 && set == 0 && shown->since_ns)
        set = gw_dict_set(*arguments, "since_ns", gw_i64((int64_t)shown->since_ns));
    if (rc == 0 && set == 0)
        set = gw_dict_set(*arguments, "count", gw_bool(true));
    gw_value_unref(pairs);
    if (set < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0) {
        gw_value_unref(*arguments);
        *arguments = NULL;
    }
    return rc;
}

static int set_page(struct gw_value *arguments, int64_t cursor, int64_t limit)
{
    int rc = gw_dict_set(arguments, "cursor", gw_i64(cursor));
    return rc < 0 ? rc : gw_dict_set(arguments, "limit", gw_i64(limit));
}

/* Fetches page after page: rows up to the limit, then the number of further jobs. */
static int ask(struct gw_client *client, const struct shown *shown, struct gw_value *arguments,
               struct found *found, struct gw_error *error)
{
    int64_t next = 0;
    int rc = 0;
    do {
        struct gw_value *page;
        const int64_t left = (int64_t)shown->limit - (int64_t)gw_value_count(found->rows);
        rc = set_page(arguments, next, left > 0 ? left : 0);
        rc = rc < 0 ? gw_error_set(error, rc, "out of memory")
                    : gw_client_query(client, "jobs", arguments, &page, error);
        if (rc < 0)
            return rc;
        const struct gw_value *rows = gw_value_find(page, "rows");
        for (size_t i = 0; rows && i < gw_value_count(rows) && rc == 0; i++)
            if (gw_list_push(found->rows, gw_value_ref(gw_value_at(rows, i))) < 0)
                rc = gw_error_set(error, GW_ENOMEM, "out of memory");
        next = gw_table_number(page, "next");
        found->more += (uint64_t)gw_table_number(page, "more");
        gw_value_unref(page);
    } while (rc == 0 && next > 0);
    return rc;
}

/* -- Selected jobs ------------------------------------------------------------------------------
 */

/* Resolves all arguments to a list of jobs, ascending and without duplicates. A number without a
 * job is an error, unless the options filter the jobs. */
static int select_all(struct gw_client *client, const struct shown *shown, struct gw_selector *all,
                      struct gw_error *error)
{
    const bool narrowed = shown->where.count || shown->state || shown->since_ns;
    int rc = 0;
    *all = (struct gw_selector){0};
    for (char **text = shown->jobs; *text && rc == 0; text++) {
        struct gw_selector one;
        rc = gw_selector_init(&one, client, *text, &shown->scope, error);
        struct gw_selected *items =
            rc < 0 ? NULL : realloc(all->items, (all->count + one.count + 1) * sizeof *items);
        if (rc == 0 && !items)
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
        all->items = items ? items : all->items;
        for (size_t i = 0; i < one.count && rc == 0; i++) {
            if (one.items[i].missing && !narrowed)
                rc = gw_error_set(error, GW_ENOENT, "there is no job %llu",
                                  (unsigned long long)one.items[i].job);
            else
                all->items[all->count++] = one.items[i];
        }
        gw_selector_deinit(&one);
    }
    gw_selector_sort(all);
    return rc;
}

static int find_named(struct gw_client *client, const struct shown *shown, struct found *found,
                      struct gw_error *error)
{
    struct gw_selector all;
    int rc = select_all(client, shown, &all, error);
    for (size_t at = all.count; at > 0 && rc == 0;) {
        struct gw_value *arguments = gw_selector_ranges(&all, &at);
        rc = narrow(shown, &arguments, error);
        rc = rc == 0 ? ask(client, shown, arguments, found, error) : rc;
        gw_value_unref(arguments);
    }
    gw_selector_deinit(&all);
    return rc;
}

static int find(struct gw_client *client, const struct shown *shown, struct found *found,
                struct gw_error *error)
{
    struct gw_value *arguments;
    if (*shown->jobs)
        return find_named(client, shown, found, error);
    arguments = gw_dict();
    if (arguments && shown->scope.user &&
        gw_dict_set(arguments, "user", gw_str(shown->scope.user)) < 0) {
        gw_value_unref(arguments);
        arguments = NULL;
    }
    int rc = narrow(shown, &arguments, error);
    rc = rc == 0 ? ask(client, shown, arguments, found, error) : rc;
    gw_value_unref(arguments);
    return rc;
}

/* -- Printing -----------------------------------------------------------------------------------
 */

static int show(struct gw_client *client, const struct shown *shown, struct gw_error *error)
{
    struct found found = {.rows = gw_list()};
    int rc = found.rows ? find(client, shown, &found, error)
                        : gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc == 0 && shown->json)
        rc = gw_table_json(stdout, found.rows, shown->watch);
    else if (rc == 0 && gw_value_count(found.rows) > 0)
        gw_table_print(stdout, columns, found.rows);
    else if (rc == 0 && !found.more)
        fprintf(stderr, "no jobs\n");
    if (rc == 0 && found.more)
        fprintf(stderr,
                "and %llu more (--limit N or --all shows them; --state, --user and --since show "
                "fewer)\n",
                (unsigned long long)found.more);
    gw_value_unref(found.rows);
    return rc;
}

static int show_ended(struct gw_client *client, const struct shown *shown, struct gw_error *error)
{
    const struct gw_usage_scope scope = {.since_ns = shown->since_ns,
                                         .until_ns = shown->until_ns,
                                         .user = shown->scope.user,
                                         .state = shown->state};
    return gw_usage_print_jobs(client, &scope, shown->limit, shown->json, shown->csv, error);
}

static int run(struct gw_client *client, const struct shown *shown)
{
    struct gw_error error;
    int rc;
    if (shown->ended) {
        rc = show_ended(client, shown, &error);
        return rc < 0 ? gw_cli_error(&error) : GW_EXIT_OK;
    }
    do
        rc = show(client, shown, &error);
    while (rc == 0 && shown->watch && gw_table_again(stdout));
    return rc < 0 ? gw_cli_error(&error) : GW_EXIT_OK;
}

static int check_ended(const struct shown *shown, struct gw_error *error)
{
    if (!shown->ended && (shown->until_ns || shown->csv))
        return gw_error_set(error, GW_EINVAL, "--until and --csv need --ended");
    if (shown->ended && (*shown->jobs || shown->where.count || shown->watch))
        return gw_error_set(error, GW_EINVAL,
                            "--ended takes no JOB, --where and --watch: leave out --ended to see "
                            "jobs of the history");
    if (shown->json && shown->csv)
        return gw_error_set(error, GW_EINVAL, "give only one of --json and --csv");
    return 0;
}

static int check(struct shown *shown, struct gw_error *error)
{
    int rc = gw_selector_scope_check(&shown->scope, error);
    rc = rc < 0 ? rc : check_ended(shown, error);
    for (char **text = shown->jobs; *text && rc == 0; text++)
        rc = gw_selector_check(*text, error);
    if (rc == 0 && shown->all && shown->limit)
        rc = gw_error_set(error, GW_EINVAL,
                          "--all and --limit contradict each other: give one of them");
    if (!shown->limit)
        shown->limit = shown->all ? UINT32_MAX : LIMIT;
    return rc;
}

int gw_cli_jobs(int argc, char **argv)
{
    struct shown shown = {0};
    int first, exit_code;
    const struct gw_option table[] = {
        {"limit", 0, GW_OPTION_LIMIT, &shown.limit, "N",
         "show at most N jobs, the newest (default: 50;\n"
         "none: all)"},
        {"all", 'a', GW_OPTION_FLAG, &shown.all, NULL, "show all, as --limit none"},
        {"state", 's', GW_OPTION_TEXT, &shown.state, "STATE",
         "show only jobs in this state: queued, running,\n"
         "paused, done, failed, cancelled, unfinished or\n"
         "ended"},
        {"user", 'u', GW_OPTION_TEXT, &shown.scope.user, "USER", "show only this user's jobs"},
        {"all-users", 0, GW_OPTION_FLAG, &shown.scope.all_users, NULL,
         "names, last and all mean the jobs of all users"},
        {"since", 0, GW_OPTION_SINCE, &shown.since_ns, "TIME",
         "show only jobs submitted since this time (with\n"
         "--ended: ended): 2h (ago), 2026-11-26T09:30"},
        {"ended", 0, GW_OPTION_FLAG, &shown.ended, NULL,
         "show jobs that have ended, also those that the\n"
         "scheduler has forgotten, and what they used"},
        {"until", 0, GW_OPTION_SINCE, &shown.until_ns, "TIME",
         "with --ended: only jobs that ended before"},
        {"csv", 0, GW_OPTION_FLAG, &shown.csv, NULL, "with --ended: print CSV"},
        {"where", 0, GW_OPTION_TEXTS, &shown.where, "NAME=VALUE",
         "show only jobs with this annotation; may be given\n"
         "several times"},
        {"watch", 'w', GW_OPTION_FLAG, &shown.watch, NULL, "repeat every 2 seconds, until Ctrl-C"},
        {"json", 0, GW_OPTION_FLAG, &shown.json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "jobs",
        .arguments = "[JOB...]",
        .summary = "List all jobs of this cluster, or the given jobs, the newest first.",
        .details = "Shows the newest 50 jobs, and the number of further jobs. JOB is a number, a\n"
                   "list like 1,3,5-8, or one of your own jobs: a name (the latest job of this\n"
                   "name), last, or all.",
        .table = table,
        .synonyms = gw_synonym_jobs,
        .arguments_max = 1 << 20,
    };
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    struct gw_client *client;
    struct gw_error error;
    shown.jobs = argv + first;
    int rc = check(&shown, &error);
    exit_code = rc < 0 ? gw_cli_error(&error) : gw_cli_open(&client);
    if (exit_code == 0) {
        exit_code = run(client, &shown);
        gw_client_close(client);
    }
    free(shown.where.items);
    return exit_code;
}
