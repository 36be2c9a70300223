/* Durable facts in SQLite, in WAL mode with synchronous=FULL.
 *
 * SQLite rolls back an incomplete transaction at the end of its log. Damage elsewhere is found by
 * the hash of each row, and such a state is refused, because a state that lacks a fact is wrong.
 * SQLite takes any damage in its log for the end of the log. So the log is checked before SQLite
 * opens it (wal.h), and the number of commits is compared with a mark in a separate file
 * (watermark.h).
 *
 * No file is changed before the state was read completely. After a failed fsync, it is unknown what
 * is on disk, so the write is never tried again.
 *
 * The table `head` holds the id of the cluster, which is made together with the file. */
#include "scheduler/store/database.h"

#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "graph/wire/hash.h"
#include "scheduler/store/reserve.h"
#include "scheduler/store/state_lock.h"
#include "scheduler/store/wal.h"
#include "scheduler/store/watermark.h"

#include <errno.h>
#include <fcntl.h>
#include <gangway/version.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    APPLICATION_ID = 0x47574a31, /* "GWJ1" */
    SCHEMA_VERSION = 2,
    SCHEMA_VERSION_FILE = 1,  /* old version: the cluster id was in a separate file */
    ROW_BYTES_MAX = 64 << 20, /* a larger group of facts is split into several rows */
};

struct gw_database {
    char dir[PATH_MAX - 32];
    struct stat file; /* identity of facts.db when it was opened */
    sqlite3 *sqlite;
    sqlite3_stmt *insert, *update;
    int lock_fd;
    bool unfolded;    /* the log has content that is not in the main file yet */
    bool imports;     /* the state has SCHEMA_VERSION_FILE and is converted after reading */
    uint64_t last;    /* number of the last row */
    uint64_t commits; /* since the state was made */
    char cluster[GW_CLUSTER_ID_BYTES];
    struct gw_watermark mark;
    uint8_t hash[GW_HASH_BYTES];
    struct gw_buffer scratch;
};

/* -- Opening ---------------------------------------------------------------------------------- */

/* What the user can do if the state cannot be trusted. */
#define WAYS_OUT                                                                                   \
    "Put back a copy of the folder, or begin without its jobs: `gangway up --accept-loss` "        \
    "sets it aside"
#define ADVICE "Nothing was changed. " WAYS_OUT

static int run(struct gw_database *database, const char *sql)
{
    return sqlite3_exec(database->sqlite, sql, NULL, NULL, NULL);
}

/* Returns the number that a statement yields, or -1. */
static int64_t number_of(struct gw_database *database, const char *sql)
{
    sqlite3_stmt *statement;
    int64_t number = -1;
    if (sqlite3_prepare_v2(database->sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
        return -1;
    if (sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return number;
}

/* Makes an error from the last error of SQLite. */
static int failed(const struct gw_database *database, struct gw_error *error)
{
    int code = sqlite3_extended_errcode(database->sqlite);
    const char *text = sqlite3_errmsg(database->sqlite);
    if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB)
        return gw_error_set(error, GW_ECORRUPT, "the state in %s is damaged (%s). " ADVICE,
                            database->dir, text);
    int os = sqlite3_system_errno(database->sqlite);
    return gw_error_set(error, GW_EIO, "the state in %s: %s%s%s", database->dir, text,
                        os ? ": " : "", os ? strerror(os) : "");
}

static int damaged(const struct gw_database *database, uint64_t number, struct gw_error *error)
{
    return gw_error_set(error, GW_ECORRUPT,
                        "the state in %s is damaged: row %llu is not what was written. " ADVICE,
                        database->dir, (unsigned long long)number);
}

/* Returns 1 if the file is new, 0 if it has the current version, or an error. */
static int check_version(struct gw_database *database, struct gw_error *error)
{
    int64_t id = number_of(database, "PRAGMA application_id");
    int64_t version = number_of(database, "PRAGMA user_version");
    if (id < 0 || version < 0)
        return failed(database, error);
    if (id == 0 && version == 0 && number_of(database, "SELECT count(*) FROM sqlite_master") == 0)
        return 1;
    if (id != APPLICATION_ID)
        return gw_error_set(
            error, GW_ECORRUPT,
            "%s/facts.db was not written by Gangway: give another folder by --state",
            database->dir);
    database->imports = version == SCHEMA_VERSION_FILE;
    if (version != SCHEMA_VERSION && !database->imports)
        return gw_error_set(
            error, GW_EVERSION,
            "the state in %s has format version %d, and this Gangway (%s) reads version %d: start "
            "the version that wrote it, or give another folder by --state",
            database->dir, (int)version, GANGWAY_VERSION, SCHEMA_VERSION);
    return 0;
}

/* Computes the hash that is stored with the cluster id, so that a changed id is detected. */
static void cluster_hash(const struct gw_database *database, char text[GW_HASH_TEXT_BYTES])
{
    uint8_t hash[GW_HASH_BYTES];
    gw_hash_bytes(database->cluster, GW_CLUSTER_ID_BYTES - 1, hash);
    gw_hash_format(hash, text);
}

static int make(struct gw_database *database)
{
    char sql[1024], hash[GW_HASH_TEXT_BYTES];
    cluster_hash(database, hash);
    (void)snprintf(sql, sizeof sql,
                   "BEGIN IMMEDIATE;"
                   "PRAGMA application_id=%d; PRAGMA user_version=%d;"
                   "CREATE TABLE facts(number INTEGER PRIMARY KEY,"
                   " bytes BLOB NOT NULL, hash BLOB NOT NULL);"
                   "CREATE TABLE head(number INTEGER NOT NULL, hash BLOB NOT NULL,"
                   " commits INTEGER NOT NULL, cluster TEXT NOT NULL, cluster_hash TEXT NOT NULL);"
                   "INSERT INTO head VALUES(0, zeroblob(%d), 0, '%s', '%s');"
                   "COMMIT",
                   APPLICATION_ID, SCHEMA_VERSION, GW_HASH_BYTES, database->cluster, hash);
    int rc = run(database, sql);
    if (rc != SQLITE_OK)
        (void)run(database, "ROLLBACK");
    return rc;
}

static bool statement(struct gw_database *database, const char *sql, sqlite3_stmt **made)
{
    return sqlite3_prepare_v2(database->sqlite, sql, -1, made, NULL) == SQLITE_OK;
}

/* Checks that a missing or empty database is really new. Otherwise SQLite would silently begin a
 * new one and remove the log, which may hold facts. Other files of the state are made only after
 * facts are on disk, so each of them proves that facts were lost. log: a log file counts as such a
 * proof, too. */
static int check_lost(const struct gw_database *database, const char *what, bool log,
                      struct gw_error *error)
{
    static const char *const signs[] = {"facts.db-wal", GW_WATERMARK_NAME, "reserve",
                                        "cluster",      "programs",        "blobs"};
    char path[PATH_MAX];
    struct stat info;
    for (size_t i = !log; i < sizeof signs / sizeof *signs; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", database->dir, signs[i]);
        if (stat(path, &info) == 0 && (info.st_size > 0 || S_ISDIR(info.st_mode)))
            return gw_error_set(error, GW_ECORRUPT,
                                "the state in %s is damaged (facts.db %s, but an earlier scheduler "
                                "left %s there). " ADVICE,
                                database->dir, what, signs[i]);
    }
    return 0;
}

static int check_log(const struct gw_database *database, struct gw_error *error)
{
    char path[PATH_MAX];
    struct gw_wal_damage damage;
    (void)snprintf(path, sizeof path, "%s/facts.db-wal", database->dir);
    int rc = gw_wal_check(path, &damage, error);
    if (rc <= 0)
        return rc;
    return gw_error_set(error, GW_ECORRUPT,
                        "the state in %s is damaged: %s %llu of facts.db-wal is not what was "
                        "written, and about %u commits from there on cannot be read. " ADVICE,
                        database->dir, damage.frame ? "frame" : "header",
                        (unsigned long long)damage.frame, damage.commits);
}

/* Checks the files before SQLite opens them. */
static int check_files(const struct gw_database *database, const char *facts,
                       struct gw_error *error)
{
    struct stat info = {.st_size = 1};
    const bool gone = stat(facts, &info) < 0 && errno == ENOENT;
    if (gone || info.st_size == 0)
        return check_lost(database, gone ? "is gone" : "is empty", true, error);
    return check_log(database, error);
}

/* Returns true if a write failed only because the disk is full. Then everything that was written
 * before is intact. */
static bool lacks_room(const struct gw_database *database, int rc)
{
    const int os = sqlite3_system_errno(database->sqlite);
    return (rc & 0xff) == SQLITE_FULL || rc == SQLITE_IOERR_WRITE ||
           ((rc & 0xff) == SQLITE_IOERR && (os == ENOSPC || os == EDQUOT));
}

/* Opens the SQLite file. Checkpoints at close are disabled first, so that a log that turns out to
 * be damaged stays unchanged. The exclusive lock lets SQLite read the log without an index file,
 * for which a full disk has no room. */
static int open_file(struct gw_database *database, const char *path, struct gw_error *error)
{
    if (sqlite3_open_v2(path, &database->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                        NULL) != SQLITE_OK ||
        sqlite3_db_config(database->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) !=
            SQLITE_OK ||
        run(database, "PRAGMA locking_mode=EXCLUSIVE") != SQLITE_OK)
        return failed(database, error);
    return 0;
}

/* Creates the tables of a new state. */
static int begin(struct gw_database *database, const char *path, struct gw_error *error)
{
    struct stat info;
    if (stat(path, &info) == 0 && info.st_size > 0) {
        int rc = check_lost(database, "holds nothing", false, error);
        if (rc < 0)
            return rc;
    }
    int rc = gw_cluster_id_make(database->cluster, error);
    if (rc < 0)
        return rc;
    if (run(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL") == SQLITE_OK &&
        make(database) == SQLITE_OK)
        return 0;
    return lacks_room(database, sqlite3_extended_errcode(database->sqlite))
               ? gw_reserve_lack(database->dir, "its disk is full", error)
               : failed(database, error);
}

static int prepare(struct gw_database *database, struct gw_error *error)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/facts.db", database->dir);
    int rc = check_files(database, path, error);
    if (rc == 0)
        rc = open_file(database, path, error);
    if (rc < 0)
        return rc;
    int fresh = check_version(database, error);
    if (fresh < 0)
        return fresh;
    if (fresh && (rc = begin(database, path, error)) < 0)
        return rc;
    if (run(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL") != SQLITE_OK)
        return failed(database, error);
    database->unfolded = true;
    if (stat(path, &database->file) < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    return statement(database, "INSERT INTO facts VALUES(?,?,?)", &database->insert)
               ? 0
               : damaged(database, 0, error);
}

int gw_database_open(const char *dir, struct gw_database **database, struct gw_error *error)
{
    int rc = gw_dir_make(dir, error);
    if (rc < 0)
        return rc;
    struct gw_database *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    opened->lock_fd = opened->mark.fd = -1;
    if (!realpath(dir, opened->dir) || strlen(opened->dir) >= sizeof opened->dir - 1)
        rc = gw_error_set(error, GW_EIO, "%s: %s", dir, strerror(errno));
    if (rc == 0)
        rc = gw_state_lock_take(opened->dir, &opened->lock_fd, error);
    if (rc == 0)
        rc = prepare(opened, error);
    if (rc < 0) {
        gw_database_close(opened);
        return rc;
    }
    (void)gw_reserve_full(opened->dir, NULL);
    *database = opened;
    return 0;
}

void gw_database_close(struct gw_database *database)
{
    (void)sqlite3_finalize(database->insert);
    (void)sqlite3_finalize(database->update);
    (void)sqlite3_close(database->sqlite);
    gw_watermark_sync(&database->mark);
    gw_watermark_close(&database->mark);
    if (database->lock_fd >= 0)
        close(database->lock_fd);
    gw_buffer_deinit(&database->scratch);
    free(database);
}

/* -- Rows ------------------------------------------------------------------------------------- */

/* Computes the hash of a row from the previous hash, the number of the row, and its facts. */
static int chain(struct gw_database *database, uint64_t number, const void *facts, size_t bytes,
                 uint8_t hash[GW_HASH_BYTES])
{
    struct gw_buffer *all = &database->scratch;
    all->size = 0;
    if (gw_buffer_append(all, database->hash, sizeof database->hash) < 0 ||
        gw_buffer_append(all, &number, sizeof number) < 0 ||
        gw_buffer_append(all, facts, bytes) < 0)
        return GW_ENOMEM;
    gw_hash_bytes(all->data, all->size, hash);
    return 0;
}

static int read_row(struct gw_database *database, sqlite3_stmt *statement, struct gw_buffer *facts,
                    struct gw_error *error)
{
    uint8_t hash[GW_HASH_BYTES];
    uint64_t number = (uint64_t)sqlite3_column_int64(statement, 0);
    const void *bytes = sqlite3_column_blob(statement, 1);
    int size = sqlite3_column_bytes(statement, 1);
    const void *stored = sqlite3_column_blob(statement, 2);
    if (number != database->last + 1 || !bytes || size <= 0 || !stored ||
        sqlite3_column_bytes(statement, 2) != GW_HASH_BYTES)
        return damaged(database, database->last + 1, error);
    if (chain(database, number, bytes, (size_t)size, hash) < 0 ||
        gw_buffer_append(facts, bytes, (size_t)size) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory while reading %s", database->dir);
    if (memcmp(hash, stored, sizeof hash) != 0)
        return damaged(database, number, error);
    memcpy(database->hash, hash, sizeof hash);
    database->last = number;
    return 0;
}

/* Reads the cluster id from the file in which the old version stored it. */
static int import_cluster(struct gw_database *database, struct gw_error *error)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/cluster", database->dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, database->cluster, GW_CLUSTER_ID_BYTES - 1);
    if (fd >= 0)
        close(fd);
    if (got == GW_CLUSTER_ID_BYTES - 1 &&
        strspn(database->cluster, "0123456789abcdef") == GW_CLUSTER_ID_BYTES - 1)
        return 0;
    return gw_error_set(error, GW_ECORRUPT,
                        "the state in %s is damaged: its file `cluster`, with the id of the "
                        "cluster, is gone, empty or not what was written. With a new id, workers "
                        "would not recognise the data of its jobs. " ADVICE,
                        database->dir);
}

/* Reads the cluster id and the number of commits. */
static int read_head(struct gw_database *database, sqlite3_stmt *head, struct gw_error *error)
{
    char hash[GW_HASH_TEXT_BYTES];
    if (database->imports) {
        database->commits = database->last;
        return import_cluster(database, error);
    }
    database->commits = (uint64_t)sqlite3_column_int64(head, 2);
    const char *id = (const char *)sqlite3_column_text(head, 3);
    const char *stored = (const char *)sqlite3_column_text(head, 4);
    (void)snprintf(database->cluster, sizeof database->cluster, "%s", id ? id : "");
    cluster_hash(database, hash);
    if (strlen(database->cluster) == GW_CLUSTER_ID_BYTES - 1 && stored && strcmp(stored, hash) == 0)
        return 0;
    return gw_error_set(error, GW_ECORRUPT,
                        "the state in %s is damaged: the id of the cluster in it is not what was "
                        "written. " ADVICE,
                        database->dir);
}

/* Checks that no row is missing at the end: the number and hash of the last row must match the
 * head. */
static int check_head(struct gw_database *database, struct gw_error *error)
{
    sqlite3_stmt *head;
    if (!statement(database, "SELECT * FROM head", &head))
        return damaged(database, 0, error);
    bool same = sqlite3_step(head) == SQLITE_ROW &&
                (uint64_t)sqlite3_column_int64(head, 0) == database->last &&
                sqlite3_column_bytes(head, 1) == GW_HASH_BYTES &&
                memcmp(sqlite3_column_blob(head, 1), database->hash, GW_HASH_BYTES) == 0;
    int rc = same ? read_head(database, head, error) : damaged(database, database->last + 1, error);
    if (rc == 0 && sqlite3_step(head) != SQLITE_DONE)
        rc = damaged(database, database->last + 1, error);
    (void)sqlite3_finalize(head);
    return rc;
}

static int check_mark(const struct gw_database *database, struct gw_error *error)
{
    uint64_t commits;
    if (!gw_watermark_read(database->dir, &commits) || commits <= database->commits)
        return 0;
    return gw_error_set(error, GW_ECORRUPT,
                        "the state in %s is damaged: it ends with commit %llu, and %llu were "
                        "acknowledged: %llu are missing. " ADVICE,
                        database->dir, (unsigned long long)database->commits,
                        (unsigned long long)commits,
                        (unsigned long long)(commits - database->commits));
}

/* Converts a state of the old version to the current one, after it was read completely. */
static int import(struct gw_database *database)
{
    char sql[1024], hash[GW_HASH_TEXT_BYTES];
    cluster_hash(database, hash);
    (void)snprintf(sql, sizeof sql,
                   "BEGIN IMMEDIATE; PRAGMA user_version=%d;"
                   "ALTER TABLE head ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;"
                   "ALTER TABLE head ADD COLUMN cluster TEXT NOT NULL DEFAULT '';"
                   "ALTER TABLE head ADD COLUMN cluster_hash TEXT NOT NULL DEFAULT '';"
                   "UPDATE head SET commits=%llu, cluster='%s', cluster_hash='%s';"
                   "COMMIT",
                   SCHEMA_VERSION, (unsigned long long)database->commits, database->cluster, hash);
    int rc = run(database, sql);
    if (rc != SQLITE_OK)
        (void)run(database, "ROLLBACK");
    return rc;
}

/* Prepares the database for writing, after it was read completely and found intact. */
static int trust(struct gw_database *database, struct gw_error *error)
{
    int rc = database->imports ? import(database) : SQLITE_OK;
    if (rc != SQLITE_OK && lacks_room(database, sqlite3_extended_errcode(database->sqlite))) {
        gw_reserve_take(database->dir);
        rc = import(database);
    }
    if (rc != SQLITE_OK ||
        !statement(database, "UPDATE head SET number=?, hash=?, commits=?", &database->update) ||
        sqlite3_db_config(database->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL) != SQLITE_OK)
        return failed(database, error);
    database->imports = false;
    gw_database_fold(database); /* an empty log has no orphaned files of an earlier term */
    rc = gw_watermark_open(&database->mark, database->dir, error);
    if (rc < 0)
        return rc;
    gw_watermark_raise(&database->mark, database->commits);
    gw_watermark_sync(&database->mark);
    return 0;
}

int gw_database_read(struct gw_database *database, struct gw_buffer *facts, struct gw_error *error)
{
    sqlite3_stmt *rows;
    int rc = 0, step = SQLITE_ROW;
    if (!statement(database, "SELECT number, bytes, hash FROM facts ORDER BY number", &rows))
        return damaged(database, 0, error);
    while (rc == 0 && (step = sqlite3_step(rows)) == SQLITE_ROW)
        rc = read_row(database, rows, facts, error);
    if (rc == 0 && step != SQLITE_DONE)
        rc = failed(database, error);
    (void)sqlite3_finalize(rows);
    if (rc == 0)
        rc = check_head(database, error);
    if (rc == 0)
        rc = check_mark(database, error);
    return rc == 0 ? trust(database, error) : rc;
}

const char *gw_database_cluster(const struct gw_database *database)
{
    return database->cluster;
}

uint64_t gw_database_commits(const struct gw_database *database)
{
    return database->commits;
}

int gw_database_explain(const struct gw_database *database, const char *known,
                        struct gw_error *error)
{
    return gw_error_set(error, GW_ECORRUPT, "the state in %s is damaged: %s. " WAYS_OUT,
                        database->dir, known);
}

void gw_database_lack(struct gw_database *database, uint64_t missing)
{
    gw_watermark_raise(&database->mark, database->commits + missing);
}

void gw_database_fold(struct gw_database *database)
{
    if (!database->unfolded)
        return;
    int rc =
        sqlite3_wal_checkpoint_v2(database->sqlite, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if (rc != SQLITE_OK) { /* the content stays in the log, where it is equally safe */
        gw_log_debug("the write-ahead log of the state in %s was not merged into the database: %s",
                     database->dir, sqlite3_errstr(rc));
        return;
    }
    database->unfolded = false;
    gw_watermark_sync(&database->mark);
}

/* -- Writing ---------------------------------------------------------------------------------- */

/* Runs a prepared statement once and clears its bindings. */
static int step(sqlite3_stmt *prepared)
{
    int rc = sqlite3_step(prepared);
    (void)sqlite3_reset(prepared);
    (void)sqlite3_clear_bindings(prepared);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int insert_row(struct gw_database *database, const void *facts, int bytes)
{
    (void)sqlite3_bind_int64(database->insert, 1, (sqlite3_int64)database->last);
    (void)sqlite3_bind_blob(database->insert, 2, facts, bytes, SQLITE_STATIC);
    (void)sqlite3_bind_blob(database->insert, 3, database->hash, GW_HASH_BYTES, SQLITE_STATIC);
    return step(database->insert);
}

static int update_head(struct gw_database *database)
{
    (void)sqlite3_bind_int64(database->update, 1, (sqlite3_int64)database->last);
    (void)sqlite3_bind_blob(database->update, 2, database->hash, GW_HASH_BYTES, SQLITE_STATIC);
    (void)sqlite3_bind_int64(database->update, 3, (sqlite3_int64)database->commits + 1);
    return step(database->update);
}

static int insert(struct gw_database *database, const uint8_t *facts, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += ROW_BYTES_MAX) {
        size_t size = bytes - at < ROW_BYTES_MAX ? bytes - at : ROW_BYTES_MAX;
        if (chain(database, database->last + 1, facts + at, size, database->hash) < 0)
            return SQLITE_NOMEM;
        database->last++;
        int rc = insert_row(database, facts + at, (int)size);
        if (rc != SQLITE_OK)
            return rc;
    }
    return update_head(database);
}

/* Writes facts in one transaction. If `anew` is set, they replace all facts. */
static int write_once(struct gw_database *database, bool anew, const void *facts, size_t bytes)
{
    uint64_t last = database->last;
    uint8_t hash[GW_HASH_BYTES];
    memcpy(hash, database->hash, sizeof hash);
    int rc = run(database, anew ? "BEGIN IMMEDIATE; DELETE FROM facts" : "BEGIN IMMEDIATE");
    if (anew) {
        database->last = 0;
        memset(database->hash, 0, sizeof database->hash);
    }
    if (rc == SQLITE_OK)
        rc = insert(database, facts, bytes);
    if (rc == SQLITE_OK)
        rc = run(database, "COMMIT");
    if (rc == SQLITE_OK) {
        database->unfolded = true;
        gw_watermark_raise(&database->mark, ++database->commits);
        return 0;
    }
    rc = rc == SQLITE_NOMEM ? rc : sqlite3_extended_errcode(database->sqlite);
    (void)run(database, "ROLLBACK");
    database->last = last;
    memcpy(database->hash, hash, sizeof hash);
    return rc;
}

static int write_group(struct gw_database *database, bool anew, const void *facts, size_t bytes,
                       struct gw_error *error)
{
    int rc = write_once(database, anew, facts, bytes);
    if (lacks_room(database, rc)) {
        gw_reserve_take(database->dir);
        rc = write_once(database, anew, facts, bytes);
    }
    if (rc == 0)
        return 0;
    if (lacks_room(database, rc))
        return gw_reserve_lack(database->dir, sqlite3_errstr(rc), error);
    return gw_error_set(error, GW_EIO, "the state in %s cannot be written: %s", database->dir,
                        sqlite3_errstr(rc));
}

int gw_database_append(struct gw_database *database, const void *facts, size_t bytes,
                       struct gw_error *error)
{
    return write_group(database, false, facts, bytes, error);
}

int gw_database_rewrite(struct gw_database *database, const void *facts, size_t bytes,
                        struct gw_error *error)
{
    return write_group(database, true, facts, bytes, error);
}

bool gw_database_full(const struct gw_database *database, struct gw_error *error)
{
    return gw_reserve_full(database->dir, error);
}

bool gw_database_lost(const struct gw_database *database)
{
    char path[PATH_MAX];
    struct stat info;
    (void)snprintf(path, sizeof path, "%s/facts.db", database->dir);
    if (stat(path, &info) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return info.st_dev != database->file.st_dev || info.st_ino != database->file.st_ino;
}
