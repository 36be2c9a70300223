/* The file of the accounting. WAL and synchronous=NORMAL: a power failure may lose the last rows,
 * but damages nothing, and the next term of the scheduler stores the jobs of its history again. */
#include "scheduler/accounting/accounting_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APPLICATION_ID = 0x67776163 /* "gwac" */, SCHEMA_VERSION = 2, BUSY_MS = 2000 };

static const char SCHEMA[] =
    "CREATE TABLE IF NOT EXISTS jobs(cluster TEXT NOT NULL, job INTEGER NOT NULL,"
    " parent INTEGER, name TEXT, user TEXT, account TEXT, queue TEXT, state TEXT, tasks INTEGER,"
    " done INTEGER, failed INTEGER, cancelled INTEGER, ranks INTEGER, attempts INTEGER,"
    " slots INTEGER, gpus REAL, memory_bytes INTEGER, submitted_ns INTEGER, started_ns INTEGER,"
    " begin_ns INTEGER, ended_ns INTEGER, slot_seconds REAL, gpu_seconds REAL,"
    " memory_gib_seconds REAL, peak_bytes INTEGER, code INTEGER, exit_code INTEGER, cpu_seconds "
    "REAL,"
    " PRIMARY KEY(cluster, job)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS jobs_ended ON jobs(ended_ns);";

/* Version 1 had no CPU time. */
static const char UPGRADE[] = "ALTER TABLE jobs ADD COLUMN cpu_seconds REAL;";

static const char INSERT[] = "INSERT OR IGNORE INTO jobs "
                             "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

/* Only of a job that is in the file already, because this costs half as much again. A restarted
 * scheduler stores the jobs of its history again, but it does not know their peaks. */
static const char REPLACE[] =
    "INSERT OR REPLACE INTO jobs VALUES(?1,?2,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
    "max(?,coalesce((SELECT peak_bytes FROM jobs WHERE cluster=?1 AND job=?2),0)),?,?,?)";

/* Of jobs that run; and of all jobs, each once. */
static const char RUNNING[] =
    "PRAGMA temp_store=MEMORY; CREATE TEMP TABLE running AS SELECT * FROM jobs LIMIT 0;"
    "CREATE TEMP VIEW used AS SELECT * FROM jobs WHERE (cluster, job) NOT IN (SELECT cluster, job "
    "FROM running) UNION ALL SELECT * FROM running;";
static const char INSERT_RUNNING[] =
    "INSERT INTO running VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

int gw_accounting_file_failed(const struct gw_accounting_file *file, struct gw_error *error)
{
    const int code = sqlite3_extended_errcode(file->sqlite);
    const int os = sqlite3_system_errno(file->sqlite);
    const char *path = sqlite3_db_filename(file->sqlite, "main");
    const char *text = sqlite3_errmsg(file->sqlite);
    path = path && *path ? path : "the accounting";
    if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB)
        return gw_error_set(error, GW_ECORRUPT,
                            "%s is damaged (%s): move it away, and a new file is begun", path,
                            text);
    return gw_error_set(error, GW_EIO, "%s: %s%s%s", path, text, os ? ": " : "",
                        os ? strerror(os) : "");
}

static int run(struct gw_accounting_file *file, const char *sql, struct gw_error *error)
{
    return sqlite3_exec(file->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : gw_accounting_file_failed(file, error);
}

int gw_accounting_file_number(struct gw_accounting_file *file, const char *sql, int64_t *number,
                              struct gw_error *error)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(file->sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
        return gw_accounting_file_failed(file, error);
    const int rc = sqlite3_step(statement);
    *number = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_ROW ? 0 : gw_accounting_file_failed(file, error);
}

/* Makes the tables of a new file, or checks that this version wrote the file. */
static int prepare(struct gw_accounting_file *file, const char *path, struct gw_error *error)
{
    char sql[128];
    int64_t id, version;
    int rc = gw_accounting_file_number(file, "PRAGMA application_id", &id, error);
    if (rc == 0)
        rc = gw_accounting_file_number(file, "PRAGMA user_version", &version, error);
    if (rc < 0)
        return rc;
    if (id != 0 && id != APPLICATION_ID)
        return gw_error_set(error, GW_ECORRUPT,
                            "%s was not written by Gangway: give another file by --accounting",
                            path);
    if (id == APPLICATION_ID && version != 1 && version != SCHEMA_VERSION)
        return gw_error_set(error, GW_EVERSION,
                            "%s has format version %d, and this Gangway writes version %d: give "
                            "another file by --accounting",
                            path, (int)version, SCHEMA_VERSION);
    (void)snprintf(sql, sizeof sql, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
                   APPLICATION_ID, SCHEMA_VERSION);
    rc = run(file, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE;", error);
    if (rc == 0)
        rc = run(file, SCHEMA, error);
    if (rc == 0 && id == APPLICATION_ID && version == 1)
        rc = run(file, UPGRADE, error);
    if (rc == 0 && version != SCHEMA_VERSION)
        rc = run(file, sql, error);
    if (rc == 0)
        rc = run(file, "COMMIT", error);
    if (rc == 0)
        rc = run(file, RUNNING, error);
    return rc;
}

static int prepare_statements(struct gw_accounting_file *file, struct gw_error *error)
{
    return sqlite3_prepare_v3(file->sqlite, INSERT, -1, SQLITE_PREPARE_PERSISTENT, &file->insert,
                              NULL) == SQLITE_OK &&
                   sqlite3_prepare_v3(file->sqlite, REPLACE, -1, SQLITE_PREPARE_PERSISTENT,
                                      &file->replace, NULL) == SQLITE_OK
               ? 0
               : gw_accounting_file_failed(file, error);
}

int gw_accounting_file_open(const char *path, struct gw_accounting_file *file,
                            struct gw_error *error)
{
    *file = (struct gw_accounting_file){0};
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* SQLite would give it 0644 */
    if (fd >= 0)
        (void)close(fd);
    int rc = sqlite3_open_v2(path, &file->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                             NULL) == SQLITE_OK
                 ? 0
                 : gw_error_set(error, GW_EIO, "%s: %s", path, sqlite3_errmsg(file->sqlite));
    if (rc == 0) {
        (void)sqlite3_busy_timeout(file->sqlite, BUSY_MS);
        rc = prepare(file, path, error);
    }
    if (rc == 0)
        rc = prepare_statements(file, error);
    if (rc < 0)
        gw_accounting_file_close(file);
    return rc;
}

void gw_accounting_file_close(struct gw_accounting_file *file)
{
    (void)sqlite3_finalize(file->insert);
    (void)sqlite3_finalize(file->replace);
    (void)sqlite3_close_v2(file->sqlite);
    *file = (struct gw_accounting_file){0};
}

bool gw_accounting_file_moved(const struct gw_accounting_file *file)
{
    int moved = 0;
    return sqlite3_file_control(file->sqlite, "main", SQLITE_FCNTL_HAS_MOVED, &moved) ==
               SQLITE_OK &&
           moved;
}

/* -- Rows ---------------------------------------------------------------------------------------
 */

static int store_row(struct gw_accounting_file *file, sqlite3_stmt *insert, const char *cluster,
                     const struct gw_accounting_row *row, struct gw_error *error)
{
    const char *const texts[] = {row->name, row->user, row->account, row->queue, row->state};
    const uint64_t numbers[] = {row->tasks, row->done,     row->failed, row->cancelled,
                                row->ranks, row->attempts, row->slots};
    const uint64_t begin_ns =
        row->started_ns && row->started_ns < row->ended_ns ? row->started_ns : row->ended_ns;
    int at = 0;
    (void)sqlite3_bind_text(insert, ++at, cluster, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(insert, ++at, (int64_t)row->job);
    (void)sqlite3_bind_int64(insert, ++at, (int64_t)row->parent);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        (void)sqlite3_bind_text(insert, ++at, texts[i], -1, SQLITE_STATIC);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        (void)sqlite3_bind_int64(insert, ++at, (int64_t)numbers[i]);
    (void)sqlite3_bind_double(insert, ++at, (double)row->gpu_thousandths / 1000);
    (void)sqlite3_bind_int64(insert, ++at, (int64_t)row->memory_bytes);
    (void)sqlite3_bind_int64(insert, ++at, (int64_t)row->submitted_ns);
    (void)sqlite3_bind_int64(insert, ++at, (int64_t)row->started_ns);
    (void)sqlite3_bind_int64(insert, ++at, (int64_t)begin_ns);
    (void)sqlite3_bind_int64(insert, ++at, (int64_t)row->ended_ns);
    (void)sqlite3_bind_double(insert, ++at, (double)row->slot_ns / 1e9);
    (void)sqlite3_bind_double(insert, ++at, (double)row->gpu_ns / 1e9);
    (void)sqlite3_bind_double(insert, ++at, (double)row->memory_mib_ms / (1024 * 1000.0));
    (void)sqlite3_bind_int64(insert, ++at, (int64_t)row->peak_bytes);
    (void)sqlite3_bind_int(insert, ++at, row->code);
    (void)sqlite3_bind_int(insert, ++at, row->exit_code);
    (void)sqlite3_bind_double(insert, ++at, (double)row->cpu_ns / 1e9);
    const int rc = sqlite3_step(insert) == SQLITE_DONE ? 0 : gw_accounting_file_failed(file, error);
    (void)sqlite3_reset(insert);
    return rc;
}

/* Runs statements and stores rows, all or nothing. replace: for rows that `insert` left out, or
 * NULL. */
static int store_rows(struct gw_accounting_file *file, const char *begin, sqlite3_stmt *insert,
                      sqlite3_stmt *replace, const char *cluster,
                      const struct gw_accounting_row *const *rows, size_t count,
                      struct gw_error *error)
{
    int rc = run(file, begin, error);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = store_row(file, insert, cluster, rows[i], error);
        if (rc == 0 && replace && sqlite3_changes(file->sqlite) == 0)
            rc = store_row(file, replace, cluster, rows[i], error);
    }
    if (rc == 0)
        rc = run(file, "COMMIT", error);
    if (rc < 0)
        (void)sqlite3_exec(file->sqlite, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

int gw_accounting_file_store(struct gw_accounting_file *file, const char *cluster,
                             const struct gw_accounting_row *const *rows, size_t count,
                             struct gw_error *error)
{
    return store_rows(file, "BEGIN IMMEDIATE", file->insert, file->replace, cluster, rows, count,
                      error);
}

int gw_accounting_file_show(struct gw_accounting_file *file, const char *cluster,
                            const struct gw_accounting_row *const *rows, size_t count,
                            struct gw_error *error)
{
    sqlite3_stmt *insert;
    if (sqlite3_prepare_v2(file->sqlite, INSERT_RUNNING, -1, &insert, NULL) != SQLITE_OK)
        return gw_accounting_file_failed(file, error);
    const int rc =
        store_rows(file, "BEGIN; DELETE FROM running", insert, NULL, cluster, rows, count, error);
    (void)sqlite3_finalize(insert);
    return rc;
}

int gw_accounting_file_trim(struct gw_accounting_file *file, uint64_t before_ns,
                            struct gw_error *error)
{
    char sql[80];
    (void)snprintf(sql, sizeof sql, "DELETE FROM jobs WHERE ended_ns < %lld", (long long)before_ns);
    return run(file, sql, error);
}
