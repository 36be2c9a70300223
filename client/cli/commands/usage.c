/* `gangway usage`: what users, accounts and queues have used. Also the list of ended jobs, which
 * comes from the same file of the scheduler. */
#include "client/cli/commands/usage.h"

#include "client/cli/commands/commands.h"
#include "client/cli/lib/cli.h"
#include "client/cli/lib/table.h"
#include "graph/base/clock.h"

#include <string.h>

enum { BY_MAX = 4, COLUMNS_MAX = 16, DAYS = 30 };

static const struct gw_column sums[] = {
    {"jobs", "JOBS", GW_CELL_NUMBER},
    {"failed", "FAILED", GW_CELL_NUMBER},
    {"running", "RUNNING", GW_CELL_MINOR_NUMBER},
    {"gpu_ns", "GPU-TIME", GW_CELL_DURATION},
    {"slot_ns", "SLOT-TIME", GW_CELL_DURATION},
    {"cpu_ns", "CPU-TIME", GW_CELL_DURATION},
    {"memory", "GIB-HOURS", GW_CELL_MINOR_NUMBER},
    {"peak_bytes", "PEAK", GW_CELL_MINOR_SIZE},
    {0},
};

static const struct gw_column jobs[] = {
    {"id", "JOB", GW_CELL_NUMBER},
    {"name", "NAME", GW_CELL_TEXT},
    {"state", "STATE", GW_CELL_TEXT},
    {"exit_code", "EXIT", GW_CELL_NUMBER},
    {"user", "USER", GW_CELL_TEXT},
    {"account", "ACCOUNT", GW_CELL_MINOR_TEXT},
    {"queue", "QUEUE", GW_CELL_MINOR_TEXT},
    {"tasks", "TASKS", GW_CELL_MINOR_NUMBER},
    {"ranks", "RANKS", GW_CELL_MINOR_NUMBER},
    {"ran_ns", "RAN", GW_CELL_DURATION},
    {"gpu_ns", "GPU-TIME", GW_CELL_DURATION},
    {"slot_ns", "SLOT-TIME", GW_CELL_DURATION},
    {"cpu_ns", "CPU-TIME", GW_CELL_DURATION},
    {"peak_bytes", "PEAK", GW_CELL_MINOR_SIZE},
    {"ended_ns", "ENDED", GW_CELL_SINCE},
    {0},
};

static const char *const sums_csv[] = {
    "jobs",        "failed",  "gpu_seconds", "slot_seconds", "memory_gib_seconds", "peak_bytes",
    "cpu_seconds", "running", NULL};
static const char *const jobs_csv[] = {"id",
                                       "parent",
                                       "name",
                                       "user",
                                       "account",
                                       "queue",
                                       "state",
                                       "tasks",
                                       "done",
                                       "failed",
                                       "cancelled",
                                       "ranks",
                                       "attempts",
                                       "slots",
                                       "gpus",
                                       "memory_bytes",
                                       "submitted_ns",
                                       "started_ns",
                                       "ended_ns",
                                       "ran_ns",
                                       "slot_seconds",
                                       "gpu_seconds",
                                       "memory_gib_seconds",
                                       "peak_bytes",
                                       "code",
                                       "exit_code",
                                       "cluster",
                                       "cpu_seconds",
                                       NULL};

/* -- The query -----------------------------------------------------------------------------------
 */

static int put_text(struct gw_value *dict, const char *key, const char *text)
{
    return text && *text ? gw_dict_set(dict, key, gw_str(text)) : 0;
}

static int put_time(struct gw_value *dict, const char *key, uint64_t ns)
{
    return ns ? gw_dict_set(dict, key, gw_i64((int64_t)ns)) : 0;
}

static struct gw_value *arguments_of(const struct gw_usage_scope *scope, struct gw_value *by)
{
    struct gw_value *dict = gw_dict();
    if (dict && put_time(dict, "since_ns", scope->since_ns) == 0 &&
        put_time(dict, "until_ns", scope->until_ns) == 0 &&
        put_text(dict, "user", scope->user) == 0 &&
        put_text(dict, "account", scope->account) == 0 &&
        put_text(dict, "queue", scope->queue) == 0 && put_text(dict, "state", scope->state) == 0 &&
        (!by || gw_dict_set(dict, "by", gw_value_ref(by)) == 0))
        return dict;
    gw_value_unref(dict);
    return NULL;
}

/* Takes over the rows of a page, up to the limit. *more: whether there are further rows. */
static int take_rows(const struct gw_value *page, uint32_t limit, struct gw_value *rows, bool *more)
{
    const struct gw_value *found = gw_value_find(page, "rows");
    int rc = 0;
    for (size_t i = 0; found && i < gw_value_count(found) && rc == 0; i++) {
        *more = gw_value_count(rows) == limit;
        if (*more)
            break;
        rc = gw_list_push(rows, gw_value_ref(gw_value_at(found, i)));
    }
    return rc;
}

/* Asks for all pages. *lost: number of ended jobs that could not be stored. */
static int ask(struct gw_client *client, const char *what, struct gw_value *arguments,
               uint32_t limit, struct gw_value *rows, bool *more, struct gw_error *error)
{
    int64_t next = 0, lost = 0;
    int rc = arguments && rows ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    *more = false;
    do {
        struct gw_value *page;
        if (rc == 0 && gw_dict_set(arguments, "cursor", gw_i64(next)) < 0)
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
        rc = rc < 0 ? rc : gw_client_query(client, what, arguments, &page, error);
        if (rc < 0)
            return rc;
        if (take_rows(page, limit, rows, more) < 0)
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
        next = gw_table_number(page, "next");
        lost = gw_table_number(page, "lost");
        gw_value_unref(page);
    } while (rc == 0 && next > 0 && !*more);
    if (rc == 0 && lost > 0)
        fprintf(stderr,
                "gangway: the accounting cannot be written, and lacks %lld ended jobs: see the log "
                "of the scheduler\n",
                (long long)lost);
    return rc;
}

/* -- Printing ------------------------------------------------------------------------------------
 */

static double real_of(const struct gw_value *row, const char *key)
{
    const struct gw_value *value = gw_value_find(row, key);
    double real = 0;
    if (value)
        (void)gw_value_get_f64(value, &real, NULL);
    return real;
}

/* Adds what a table shows in other units. */
static int complete(struct gw_value *rows)
{
    static const char *const times[][2] = {
        {"gpu_seconds", "gpu_ns"}, {"slot_seconds", "slot_ns"}, {"cpu_seconds", "cpu_ns"}};
    int rc = 0;
    for (size_t i = 0; i < gw_value_count(rows) && rc == 0; i++) {
        struct gw_value *row = gw_value_at(rows, i);
        char memory[32];
        (void)snprintf(memory, sizeof memory, "%.1f", real_of(row, "memory_gib_seconds") / 3600);
        rc = gw_dict_set(row, "memory", gw_str(memory));
        for (size_t k = 0; k < sizeof times / sizeof *times && rc == 0; k++)
            rc = gw_dict_set(row, times[k][1], gw_i64((int64_t)(real_of(row, times[k][0]) * 1e9)));
    }
    return rc;
}

static void print_csv_text(const char *text)
{
    const bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted)
        putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    if (quoted)
        putchar('"');
}

static void print_csv_cell(const struct gw_value *value)
{
    const char *text;
    int64_t number;
    double real;
    if (value && gw_value_get_str(value, &text, NULL) == 0)
        print_csv_text(text);
    else if (value && gw_value_get_i64(value, &number, NULL) == 0)
        printf("%lld", (long long)number);
    else if (value && gw_value_get_f64(value, &real, NULL) == 0)
        printf("%.3f", real);
}

static void print_csv(const char *const *first, const char *const *then,
                      const struct gw_value *rows)
{
    const char *const *const parts[] = {first, then};
    for (size_t row = 0; row <= gw_value_count(rows); row++) {
        const char *between = "";
        for (size_t part = 0; part < 2; part++)
            for (const char *const *key = parts[part]; *key; key++) {
                printf("%s", between);
                if (row == 0)
                    printf("%s", *key);
                else
                    print_csv_cell(gw_value_find(gw_value_at(rows, row - 1), *key));
                between = ",";
            }
        printf("\n");
    }
}

static int print_table(const struct gw_column *columns, struct gw_value *rows, const char *none,
                       struct gw_error *error)
{
    if (gw_value_count(rows) == 0)
        fprintf(stderr, "%s\n", none);
    else if (complete(rows) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    else
        gw_table_print(stdout, columns, rows);
    return 0;
}

int gw_usage_print_jobs(struct gw_client *client, const struct gw_usage_scope *scope,
                        uint32_t limit, bool json, bool csv, struct gw_error *error)
{
    static const char *const nothing[] = {NULL};
    struct gw_value *arguments = arguments_of(scope, NULL), *rows = gw_list();
    bool more;
    int rc = ask(client, "ended_jobs", arguments, limit, rows, &more, error);
    if (rc == 0 && json)
        rc = gw_table_json(stdout, rows, false);
    else if (rc == 0 && csv)
        print_csv(nothing, jobs_csv, rows);
    else if (rc == 0)
        rc = print_table(jobs, rows, "no jobs have ended in this time", error);
    if (rc == 0 && more)
        fprintf(stderr, "and more (--limit N or --all shows them; --since, --until, --state and "
                        "--user show fewer)\n");
    gw_value_unref(rows);
    gw_value_unref(arguments);
    return rc;
}

/* -- `gangway usage` -----------------------------------------------------------------------------
 */

/* The columns of --by: a sum for each combination. */
struct by {
    struct gw_value *list;
    char names[BY_MAX][16];
    const char *keys[BY_MAX + 1];
    struct gw_column columns[BY_MAX + COLUMNS_MAX];
};

static int read_by(const char *text, struct by *by, struct gw_error *error)
{
    static const struct gw_column known[] = {
        {"user", "USER", GW_CELL_TEXT},
        {"account", "ACCOUNT", GW_CELL_TEXT},
        {"queue", "QUEUE", GW_CELL_TEXT},
        {"day", "DAY", GW_CELL_TEXT},
    };
    size_t count = 0;
    *by = (struct by){.list = gw_list()};
    while (*text) {
        const size_t length = strcspn(text, ",");
        size_t k = 0;
        while (k < BY_MAX &&
               (strlen(known[k].key) != length || strncmp(known[k].key, text, length) != 0))
            k++;
        if (k == BY_MAX || count == BY_MAX)
            return gw_error_set(error, GW_EINVAL,
                                "--by %.*s: give a list of user, account, queue and day, each once",
                                (int)length, text);
        by->columns[count] = known[k];
        by->keys[count++] = known[k].key;
        if (gw_list_push(by->list, gw_str(known[k].key)) < 0)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
        text += length + (text[length] == ',');
    }
    memcpy(by->columns + count, sums, sizeof sums);
    return 0;
}

static int show(struct gw_client *client, const struct gw_usage_scope *scope, struct by *by,
                bool json, bool csv, struct gw_error *error)
{
    struct gw_value *arguments = arguments_of(scope, by->list), *rows = gw_list();
    bool more;
    int rc = ask(client, "usage", arguments, UINT32_MAX, rows, &more, error);
    if (rc == 0 && json)
        rc = gw_table_json(stdout, rows, false);
    else if (rc == 0 && csv)
        print_csv(by->keys, sums_csv, rows);
    else if (rc == 0)
        rc = print_table(by->columns, rows, "no jobs ran in this time", error);
    gw_value_unref(rows);
    gw_value_unref(arguments);
    return rc;
}

int gw_cli_usage(int argc, char **argv)
{
    const uint64_t day_ns = 24 * 3600 * GW_NS_PER_S;
    struct gw_usage_scope scope = {.since_ns = gw_clock_wall_ns() - DAYS * day_ns};
    const char *text = NULL;
    bool json = false, csv = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"by", 0, GW_OPTION_LIST, &text, "LIST",
         "sums for each of these: user, account, queue, day\n"
         "(default: user)"},
        {"since", 0, GW_OPTION_SINCE, &scope.since_ns, "TIME",
         "from this time on: 24h (ago), 2026-11-26T09:30;\n"
         "none: from the first job (default: 30 days ago)"},
        {"until", 0, GW_OPTION_SINCE, &scope.until_ns, "TIME", "up to this time (default: now)"},
        {"user", 'u', GW_OPTION_TEXT, &scope.user, "USER", "only jobs of this user"},
        {"account", 0, GW_OPTION_TEXT, &scope.account, "ACCOUNT", "only jobs of this account"},
        {"queue", 0, GW_OPTION_TEXT, &scope.queue, "QUEUE", "only jobs of this queue"},
        {"csv", 0, GW_OPTION_FLAG, &csv, NULL, "print CSV, with times in seconds"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "usage",
        .arguments = "",
        .summary = "Show what jobs have used: GPUs, slots and memory, multiplied by the time for\n"
                   "which tasks held them, and CPU time. Jobs that run count as far as they\n"
                   "have come, with a CPU time that is some seconds old.",
        .details =
            "You see your own jobs, and an admin sees those of all users. Of a job that ran\n"
            "partly outside of the given time, this part is left out. `gangway jobs\n"
            "--ended` lists the jobs themselves.",
        .table = table,
    };
    struct by by = {0};
    struct gw_client *client;
    struct gw_error error;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    int rc = json && csv ? gw_error_set(&error, GW_EINVAL, "give only one of --json and --csv") : 0;
    rc = rc < 0 ? rc : read_by(text ? text : "user", &by, &error);
    exit_code = rc < 0 ? gw_cli_error(&error) : gw_cli_open(&client);
    if (exit_code == 0) {
        rc = show(client, &scope, &by, json, csv, &error);
        exit_code = rc < 0 ? gw_cli_error(&error) : GW_EXIT_OK;
        gw_client_close(client);
    }
    gw_value_unref(by.list);
    return exit_code;
}
