/* Queries of clients about ended jobs. Texts of a query are bound and never become SQL. */
#include "scheduler/accounting/usage_query.h"

#include "graph/base/text.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

struct usage_query {
    bool jobs, by_day;
    int64_t since_ns, until_ns, cursor;
    const char *by[4]; /* names of columns */
    size_t by_count;
    const char *user, *account, *queue, *state; /* NULL: any */
};

/* -- Reading the query ------------------------------------------------------------------------
 */

static int read_by(const struct gw_value *by, struct usage_query *query, struct gw_error *error)
{
    static const char *const names[] = {"user", "account", "queue", "day"};
    const size_t count = by ? gw_value_count(by) : 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = "";
        size_t k = 0;
        (void)gw_value_get_str(gw_value_at(by, i), &name, NULL);
        while (k < 4 && strcmp(names[k], name) != 0)
            k++;
        for (size_t before = 0; before < query->by_count && k < 4; before++)
            if (query->by[before] == names[k])
                k = 4;
        if (k == 4)
            return gw_error_set(error, GW_EINVAL,
                                "--by %s: give a list of user, account, queue and day, each once",
                                name);
        query->by[query->by_count++] = names[k];
        query->by_day |= k == 3;
    }
    return 0;
}

static int read_query(const struct gw_value *arguments, struct usage_query *query,
                      struct gw_error *error)
{
    const struct {
        const char *key;
        int64_t *number;
        const char **text;
    } fields[] = {
        {"since_ns", &query->since_ns, NULL}, {"until_ns", &query->until_ns, NULL},
        {"cursor", &query->cursor, NULL},     {"user", NULL, &query->user},
        {"account", NULL, &query->account},   {"queue", NULL, &query->queue},
        {"state", NULL, &query->state},
    };
    *query = (struct usage_query){.until_ns = INT64_MAX};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const struct gw_value *value = gw_value_find(arguments, fields[i].key);
        const int rc = !value             ? 0
                       : fields[i].number ? gw_value_get_i64(value, fields[i].number, error)
                                          : gw_value_get_str(value, fields[i].text, error);
        if (rc < 0)
            return gw_error_set(error, GW_EINVAL, "a query about ended jobs has an invalid %s",
                                fields[i].key);
    }
    const struct gw_value *jobs = gw_value_find(arguments, "jobs");
    if (jobs)
        (void)gw_value_get_bool(jobs, &query->jobs, NULL);
    if (query->since_ns >= query->until_ns)
        return gw_error_set(error, GW_EINVAL, "--until must be later than --since");
    return read_by(gw_value_find(arguments, "by"), query, error);
}

/* -- Statements ----------------------------------------------------------------------------------
 */

static int prepare(struct gw_accounting_file *file, const struct usage_query *query,
                   const char *sql, sqlite3_stmt **statement, struct gw_error *error)
{
    const char *const texts[] = {query->user, query->account, query->queue, query->state};
    static const char *const names[] = {":user", ":account", ":queue", ":state"};
    if (sqlite3_prepare_v2(file->sqlite, sql, -1, statement, NULL) != SQLITE_OK)
        return gw_accounting_file_failed(file, error);
    const int since = sqlite3_bind_parameter_index(*statement, ":since");
    const int until = sqlite3_bind_parameter_index(*statement, ":until");
    (void)sqlite3_bind_int64(*statement, since, query->since_ns);
    (void)sqlite3_bind_int64(*statement, until, query->until_ns);
    for (int i = 0; i < 4; i++)
        if (texts[i])
            (void)sqlite3_bind_text(*statement, sqlite3_bind_parameter_index(*statement, names[i]),
                                    texts[i], -1, SQLITE_STATIC);
    return 0;
}

static void say_filter(struct gw_text *sql, const struct usage_query *query)
{
    gw_text_say(sql, "%s%s%s%s", query->user ? " AND user = :user" : "",
                query->account ? " AND account = :account" : "",
                query->queue ? " AND queue = :queue" : "",
                query->state ? " AND state = :state" : "");
}

/* Makes a dict of a row: column names are keys. Columns without a value are left out. */
static struct gw_value *read_row(sqlite3_stmt *statement)
{
    struct gw_value *row = gw_dict();
    for (int i = 0; row && i < sqlite3_column_count(statement); i++) {
        const int type = sqlite3_column_type(statement, i);
        if (type == SQLITE_NULL)
            continue;
        struct gw_value *cell = type == SQLITE_INTEGER ? gw_i64(sqlite3_column_int64(statement, i))
                                : type == SQLITE_FLOAT
                                    ? gw_f64(sqlite3_column_double(statement, i))
                                    : gw_str((const char *)sqlite3_column_text(statement, i));
        if (gw_dict_set(row, sqlite3_column_name(statement, i), cell) < 0) {
            gw_value_unref(row);
            row = NULL;
        }
    }
    return row;
}

/* Runs a statement, and makes an answer of one page of its rows. */
static int read_page(struct gw_accounting_file *file, sqlite3_stmt *statement,
                     const struct usage_query *query, struct gw_value **answer,
                     struct gw_error *error)
{
    const int64_t most = query->jobs ? GW_USAGE_QUERY_JOBS_MAX : GW_USAGE_QUERY_SUMS_MAX;
    struct gw_value *page = gw_dict(), *rows = gw_list();
    int64_t count = 0;
    int rc = page && rows ? 0 : GW_ENOMEM, step = SQLITE_ROW;
    while (rc == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW && count < most) {
        rc = gw_list_push(rows, read_row(statement));
        count++;
    }
    if (rc == 0 && count == most && step == SQLITE_ROW)
        rc = gw_dict_set(page, "next", gw_i64(query->cursor + most));
    if (rc == 0)
        rc = gw_dict_set(page, "rows", gw_value_ref(rows));
    gw_value_unref(rows);
    if (rc == 0 && step != SQLITE_ROW && step != SQLITE_DONE) {
        gw_value_unref(page);
        return gw_accounting_file_failed(file, error);
    }
    if (rc < 0) {
        gw_value_unref(page);
        return gw_error_set(error, rc, "out of memory");
    }
    *answer = page;
    return 0;
}

/* -- Days ----------------------------------------------------------------------------------------
 */

static int64_t midnight_after(int64_t at_ns, int days)
{
    time_t seconds = (time_t)(at_ns / NS_PER_S);
    struct tm day;
    (void)localtime_r(&seconds, &day);
    day.tm_mday += days;
    day.tm_hour = day.tm_min = day.tm_sec = 0;
    day.tm_isdst = -1;
    return (int64_t)mktime(&day) * NS_PER_S;
}

/* Fills the table of days with those from the first job to the last one, within the query. */
static int fill_days(struct gw_accounting_file *file, const struct usage_query *query,
                     struct gw_error *error)
{
    sqlite3_stmt *insert;
    int64_t first_ns, last_ns;
    int rc = gw_accounting_file_number(file, "SELECT min(begin_ns) FROM used WHERE begin_ns > 0",
                                       &first_ns, error);
    rc = rc < 0
             ? rc
             : gw_accounting_file_number(file, "SELECT max(ended_ns) FROM used", &last_ns, error);
    if (rc < 0)
        return rc;
    first_ns = first_ns > query->since_ns ? first_ns : query->since_ns;
    last_ns = last_ns < query->until_ns ? last_ns : query->until_ns;
    if ((last_ns - first_ns) / (86400 * NS_PER_S) > GW_USAGE_QUERY_DAYS_MAX)
        return gw_error_set(error, GW_ELIMIT, "--by day: at most %d days: give --since",
                            GW_USAGE_QUERY_DAYS_MAX);
    if (sqlite3_exec(file->sqlite,
                     "CREATE TEMP TABLE IF NOT EXISTS days(start_ns INTEGER PRIMARY KEY, next_ns "
                     "INTEGER, day TEXT); DELETE FROM days",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(file->sqlite, "INSERT INTO days VALUES(?,?,?)", -1, &insert, NULL) !=
            SQLITE_OK)
        return gw_accounting_file_failed(file, error);
    for (int64_t at_ns = midnight_after(first_ns, 0); at_ns <= last_ns && rc == 0;) {
        const int64_t next_ns = midnight_after(at_ns, 1);
        const time_t seconds = (time_t)(at_ns / NS_PER_S);
        struct tm day;
        char text[32];
        (void)strftime(text, sizeof text, "%Y-%m-%d", localtime_r(&seconds, &day));
        (void)sqlite3_bind_int64(insert, 1, at_ns);
        (void)sqlite3_bind_int64(insert, 2, next_ns);
        (void)sqlite3_bind_text(insert, 3, text, -1, SQLITE_STATIC);
        if (sqlite3_step(insert) != SQLITE_DONE)
            rc = gw_accounting_file_failed(file, error);
        (void)sqlite3_reset(insert);
        at_ns = next_ns;
    }
    (void)sqlite3_finalize(insert);
    return rc;
}

/* -- Answers -------------------------------------------------------------------------------------
 */

/* The part of a job's use that lies between two times. A job without a duration lies at its end. */
static void say_part(struct gw_text *sql, const char *from, const char *until)
{
    gw_text_say(sql,
                "(CASE WHEN ended_ns > begin_ns THEN (min(ended_ns, %s) - max(begin_ns, %s)) * 1.0 "
                "/ (ended_ns - begin_ns) ELSE 1 END)",
                until, from);
}

static void say_sums(struct gw_text *sql, const struct usage_query *query)
{
    static const char *const used[] = {"gpu_seconds", "slot_seconds", "memory_gib_seconds",
                                       "cpu_seconds"};
    const bool days = query->by_day;
    gw_text_say(sql, "SELECT ");
    for (size_t i = 0; i < query->by_count; i++)
        gw_text_say(sql, "%s, ", query->by[i]);
    gw_text_say(sql, "count(*) AS jobs, sum(state = 'failed') AS failed, sum(state = 'running') AS "
                     "running, nullif(max(peak_bytes), 0) AS "
                     "peak_bytes");
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
        gw_text_say(sql, ", coalesce(sum(%s * ", used[i]);
        say_part(sql, days ? "max(start_ns, :since)" : ":since",
                 days ? "min(next_ns, :until)" : ":until");
        gw_text_say(sql, "), 0.0) AS %s", used[i]);
    }
    gw_text_say(sql, " FROM used");
    if (days) /* the days of a job begin at most 25 hours before it */
        gw_text_say(sql, " JOIN days ON start_ns > begin_ns - 90000000000000 AND start_ns < "
                         "max(ended_ns, begin_ns + 1) AND next_ns > begin_ns");
    gw_text_say(sql, " WHERE ended_ns >= :since AND begin_ns < :until");
    say_filter(sql, query);
    for (size_t i = 0; i < query->by_count; i++)
        gw_text_say(sql, "%s%s", i == 0 ? " GROUP BY " : ", ", query->by[i]);
    if (query->by_count)
        gw_text_say(sql, " ORDER BY %sgpu_seconds DESC, slot_seconds DESC", days ? "day, " : "");
    gw_text_say(sql, " LIMIT %d OFFSET %lld", GW_USAGE_QUERY_SUMS_MAX + 1,
                (long long)query->cursor);
}

static void say_jobs(struct gw_text *sql, const struct usage_query *query)
{
    gw_text_say(sql,
                "SELECT job AS id, parent, name, user, account, queue, state, tasks, done, failed, "
                "cancelled, ranks, attempts, slots, gpus, memory_bytes, submitted_ns, started_ns, "
                "ended_ns, ended_ns - begin_ns AS ran_ns, slot_seconds, gpu_seconds, "
                "memory_gib_seconds, cpu_seconds, nullif(peak_bytes, 0) AS peak_bytes, code, "
                "exit_code, cluster "
                "FROM jobs WHERE ended_ns "
                ">= :since AND ended_ns < :until");
    say_filter(sql, query);
    gw_text_say(sql, " ORDER BY ended_ns DESC, job DESC LIMIT %d OFFSET %lld",
                GW_USAGE_QUERY_JOBS_MAX + 1, (long long)query->cursor);
}

int gw_usage_query_answer(struct gw_accounting_file *file, const struct gw_value *arguments,
                          struct gw_value **answer, struct gw_error *error)
{
    char buffer[2048];
    struct gw_text sql = {buffer, sizeof buffer, 0};
    struct usage_query query;
    sqlite3_stmt *statement;
    int rc = read_query(arguments, &query, error);
    if (rc == 0 && query.by_day && !query.jobs)
        rc = fill_days(file, &query, error);
    if (rc < 0)
        return rc;
    if (query.jobs)
        say_jobs(&sql, &query);
    else
        say_sums(&sql, &query);
    rc = prepare(file, &query, buffer, &statement, error);
    if (rc < 0)
        return rc;
    rc = read_page(file, statement, &query, answer, error);
    (void)sqlite3_finalize(statement);
    return rc;
}
