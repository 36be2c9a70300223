/* Durable facts in SQLite: WAL, synchronous=FULL. A torn tail is rolled back by SQLite; damage
 * inside is found by the hashes of the rows and refused, for a state that lacks a fact is a wrong
 * one. After a failed fsync nothing is known about what the disk holds: that is never tried again.
 *
 * A file of some MiB lies beside it, in reserve: where the disk is full it goes, and what ends jobs
 * still fits. */
#include "scheduler/store/database.h"

#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "graph/base/text.h"
#include "graph/wire/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    APPLICATION_ID = 0x47574a31, /* "GWJ1" */
    SCHEMA_VERSION = 1,
    ROW_BYTES_MAX = 64 << 20, /* of a larger group several rows are made */
    RESERVE_BYTES = 8 << 20,
};

struct gw_database {
    char dir[PATH_MAX - 32];
    struct stat file; /* facts.db, as it was opened */
    sqlite3 *sqlite;
    sqlite3_stmt *insert, *update;
    int lock_fd;
    bool full;
    uint64_t last; /* number of the last row */
    uint8_t hash[GW_HASH_BYTES];
    struct gw_buffer scratch;
};

/* -- Opening -------------------------------------------------------------------------------------
 */

static int lock(struct gw_database *database, struct gw_error *error)
{
    char path[PATH_MAX];
    char owner[32] = "";
    (void)snprintf(path, sizeof path, "%s/lock", database->dir);
    database->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (database->lock_fd < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    if (flock(database->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        ssize_t got = pread(database->lock_fd, owner, sizeof owner - 1, 0);
        owner[got > 0 ? got : 0] = '\0';
        owner[strcspn(owner, "\n")] = '\0';
        return gw_error_set(error, GW_EEXIST,
                            "the state in %s is in use by another scheduler (process %s): end that "
                            "one first, or give another folder by --state",
                            database->dir, *owner ? owner : "?");
    }
    int bytes = snprintf(owner, sizeof owner, "%d\n", (int)getpid());
    if (ftruncate(database->lock_fd, 0) < 0 ||
        pwrite(database->lock_fd, owner, (size_t)bytes, 0) < 0)
        gw_log_warn("%s: %s", path, strerror(errno)); /* only who looks for the owner misses it */
    return 0;
}

static int run(struct gw_database *database, const char *sql)
{
    return sqlite3_exec(database->sqlite, sql, NULL, NULL, NULL);
}

/* The number that a statement gives; -1: none. */
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

/* What became of the file, from what SQLite says. */
static int failed(const struct gw_database *database, struct gw_error *error)
{
    int code = sqlite3_extended_errcode(database->sqlite);
    const char *text = sqlite3_errmsg(database->sqlite);
    if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB)
        return gw_error_set(error, GW_ECORRUPT,
                            "the state in %s is damaged (%s); nothing was changed. Put back a copy "
                            "of the folder, or move it away to begin without its jobs",
                            database->dir, text);
    int os = sqlite3_system_errno(database->sqlite);
    return gw_error_set(error, GW_EIO, "the state in %s: %s%s%s", database->dir, text,
                        os ? ": " : "", os ? strerror(os) : "");
}

static int damaged(const struct gw_database *database, uint64_t number, struct gw_error *error)
{
    return gw_error_set(error, GW_ECORRUPT,
                        "the state in %s is damaged: row %llu is not what was written. Nothing was "
                        "changed. Put back a copy of the folder, or move it away to begin without "
                        "its jobs",
                        database->dir, (unsigned long long)number);
}

/* 1: it is new; 0: it is of this version. */
static int check_version(struct gw_database *database, struct gw_error *error)
{
    int64_t id = number_of(database, "PRAGMA application_id");
    int64_t version = number_of(database, "PRAGMA user_version");
    if (id < 0 || version < 0)
        return failed(database, error);
    if (id == 0 && version == 0 && number_of(database, "SELECT count(*) FROM sqlite_master") == 0)
        return 1;
    if (id != APPLICATION_ID)
        return gw_error_set(error, GW_ECORRUPT,
                            "%s/facts.db is no file of Gangway's: give another folder by --state",
                            database->dir);
    if (version != SCHEMA_VERSION)
        return gw_error_set(error, GW_EVERSION,
                            "the state in %s has version %d, this Gangway %s reads %d: start the "
                            "version that wrote it, or give another folder by --state",
                            database->dir, (int)version, GANGWAY_VERSION, SCHEMA_VERSION);
    return 0;
}

static int make(struct gw_database *database)
{
    char sql[512];
    (void)snprintf(sql, sizeof sql,
                   "BEGIN IMMEDIATE;"
                   "PRAGMA application_id=%d; PRAGMA user_version=%d;"
                   "CREATE TABLE facts(number INTEGER PRIMARY KEY,"
                   " bytes BLOB NOT NULL, hash BLOB NOT NULL);"
                   "CREATE TABLE head(number INTEGER NOT NULL, hash BLOB NOT NULL);"
                   "INSERT INTO head VALUES(0, zeroblob(%d));"
                   "COMMIT",
                   APPLICATION_ID, SCHEMA_VERSION, GW_HASH_BYTES);
    return run(database, sql);
}

static bool statement(struct gw_database *database, const char *sql, sqlite3_stmt **made)
{
    return sqlite3_prepare_v2(database->sqlite, sql, -1, made, NULL) == SQLITE_OK;
}

/* Nothing where there were facts: SQLite would begin anew without a word, and remove the log that
 * may hold them. What else a life leaves is made only after there are facts on disk, so that a life
 * which ended before that shows none of it. */
static int check_lost(const struct gw_database *database, const char *facts, struct gw_error *error)
{
    static const char *const signs[] = {"facts.db-wal", "reserve",  "cluster",
                                        "listens",      "programs", "blobs"};
    char path[PATH_MAX];
    struct stat info;
    const bool there = stat(facts, &info) == 0;
    if (there ? info.st_size > 0 : errno != ENOENT)
        return 0;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", database->dir, signs[i]);
        if (stat(path, &info) == 0 && (info.st_size > 0 || S_ISDIR(info.st_mode)))
            return gw_error_set(error, GW_ECORRUPT,
                                "the state in %s is damaged (facts.db %s, but an earlier life left "
                                "%s there); nothing was changed. Put back a copy of the folder, "
                                "or move it away to begin without its jobs",
                                database->dir, there ? "is empty" : "is gone", signs[i]);
    }
    return 0;
}

static int prepare(struct gw_database *database, struct gw_error *error)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/facts.db", database->dir);
    int rc = check_lost(database, path, error);
    if (rc < 0)
        return rc;
    if (sqlite3_open_v2(path, &database->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                        NULL) != SQLITE_OK)
        return failed(database, error);
    int fresh = check_version(database, error);
    if (fresh < 0)
        return fresh;
    if (run(database, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;"
                      "PRAGMA synchronous=FULL") != SQLITE_OK ||
        (fresh && make(database) != SQLITE_OK))
        return failed(database, error);
    if (stat(path, &database->file) < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    if (!statement(database, "INSERT INTO facts VALUES(?,?,?)", &database->insert) ||
        !statement(database, "UPDATE head SET number=?, hash=?", &database->update))
        return damaged(database, 0, error);
    return 0;
}

int gw_database_open(const char *dir, struct gw_database **database, struct gw_error *error)
{
    int rc = gw_dir_make(dir, error);
    if (rc < 0)
        return rc;
    struct gw_database *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    opened->lock_fd = -1;
    if (!realpath(dir, opened->dir) || strlen(opened->dir) >= sizeof opened->dir - 1)
        rc = gw_error_set(error, GW_EIO, "%s: %s", dir, strerror(errno));
    if (rc == 0)
        rc = lock(opened, error);
    if (rc == 0)
        rc = prepare(opened, error);
    if (rc < 0) {
        gw_database_close(opened);
        return rc;
    }
    (void)gw_database_full(opened, NULL);
    *database = opened;
    return 0;
}

void gw_database_close(struct gw_database *database)
{
    (void)sqlite3_finalize(database->insert);
    (void)sqlite3_finalize(database->update);
    (void)sqlite3_close(database->sqlite);
    if (database->lock_fd >= 0)
        close(database->lock_fd);
    gw_buffer_deinit(&database->scratch);
    free(database);
}

/* -- Rows ----------------------------------------------------------------------------------------
 */

/* The hash of a row: over the hash before it, its number, and its facts. */
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
    const void *kept = sqlite3_column_blob(statement, 2);
    if (number != database->last + 1 || !bytes || size <= 0 || !kept ||
        sqlite3_column_bytes(statement, 2) != GW_HASH_BYTES)
        return damaged(database, database->last + 1, error);
    if (chain(database, number, bytes, (size_t)size, hash) < 0 ||
        gw_buffer_append(facts, bytes, (size_t)size) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory while reading %s", database->dir);
    if (memcmp(hash, kept, sizeof hash) != 0)
        return damaged(database, number, error);
    memcpy(database->hash, hash, sizeof hash);
    database->last = number;
    return 0;
}

/* The rows are all that were written: none is lacking at the end. */
static int check_head(struct gw_database *database, struct gw_error *error)
{
    sqlite3_stmt *head;
    if (!statement(database, "SELECT number, hash FROM head", &head))
        return damaged(database, 0, error);
    bool same = sqlite3_step(head) == SQLITE_ROW &&
                (uint64_t)sqlite3_column_int64(head, 0) == database->last &&
                sqlite3_column_bytes(head, 1) == GW_HASH_BYTES &&
                memcmp(sqlite3_column_blob(head, 1), database->hash, GW_HASH_BYTES) == 0 &&
                sqlite3_step(head) == SQLITE_DONE;
    (void)sqlite3_finalize(head);
    return same ? 0 : damaged(database, database->last + 1, error);
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
    return rc < 0 ? rc : check_head(database, error);
}

/* -- Writing -------------------------------------------------------------------------------------
 */

/* Runs a statement that was prepared, with a number, perhaps facts, and the hash; forgets these. */
static int step(struct gw_database *database, sqlite3_stmt *prepared, const void *facts, int bytes)
{
    int at = 1;
    (void)sqlite3_bind_int64(prepared, at++, (sqlite3_int64)database->last);
    if (facts)
        (void)sqlite3_bind_blob(prepared, at++, facts, bytes, SQLITE_STATIC);
    (void)sqlite3_bind_blob(prepared, at, database->hash, GW_HASH_BYTES, SQLITE_STATIC);
    int rc = sqlite3_step(prepared);
    (void)sqlite3_reset(prepared);
    (void)sqlite3_clear_bindings(prepared);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int insert(struct gw_database *database, const uint8_t *facts, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += ROW_BYTES_MAX) {
        size_t size = bytes - at < ROW_BYTES_MAX ? bytes - at : ROW_BYTES_MAX;
        if (chain(database, database->last + 1, facts + at, size, database->hash) < 0)
            return SQLITE_NOMEM;
        database->last++;
        int rc = step(database, database->insert, facts + at, (int)size);
        if (rc != SQLITE_OK)
            return rc;
    }
    return step(database, database->update, NULL, 0);
}

/* One transaction: all of it, or nothing; anew: in the place of all that was there. */
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
    if (rc == SQLITE_OK)
        return 0;
    rc = rc == SQLITE_NOMEM ? rc : sqlite3_extended_errcode(database->sqlite);
    (void)run(database, "ROLLBACK");
    database->last = last;
    memcpy(database->hash, hash, sizeof hash);
    return rc;
}

static void reserve_path(const struct gw_database *database, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/reserve", database->dir);
}

/* Whether writing failed for room alone: what was written before is whole. */
static bool lacks_room(int rc)
{
    return (rc & 0xff) == SQLITE_FULL || rc == SQLITE_IOERR_WRITE;
}

static int write_group(struct gw_database *database, bool anew, const void *facts, size_t bytes,
                       struct gw_error *error)
{
    char path[PATH_MAX];
    int rc = write_once(database, anew, facts, bytes);
    if (lacks_room(rc)) {
        gw_log_error("no room for the state in %s: taking what is kept in reserve", database->dir);
        reserve_path(database, path);
        (void)unlink(path);
        database->full = true;
        rc = write_once(database, anew, facts, bytes);
    }
    if (rc == 0)
        return 0;
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

bool gw_database_lost(const struct gw_database *database)
{
    char path[PATH_MAX];
    struct stat info;
    (void)snprintf(path, sizeof path, "%s/facts.db", database->dir);
    if (stat(path, &info) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return info.st_dev != database->file.st_dev || info.st_ino != database->file.st_ino;
}

/* -- Room ----------------------------------------------------------------------------------------
 */

bool gw_database_full(struct gw_database *database, struct gw_error *error)
{
    char path[PATH_MAX], wants[GW_TEXT_BYTES_ROOM], has[GW_TEXT_BYTES_ROOM];
    struct statvfs disk;
    reserve_path(database, path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int rc = fd < 0 ? errno : posix_fallocate(fd, 0, RESERVE_BYTES);
    if (fd >= 0)
        close(fd);
    database->full = rc != 0;
    if (rc == 0)
        return false;
    (void)unlink(path);
    if (rc != ENOSPC || statvfs(database->dir, &disk) < 0)
        (void)gw_error_set(error, GW_EIO,
                           "there is no room for another job in %s (%s): free some, or cancel jobs",
                           database->dir, strerror(rc));
    else
        (void)gw_error_set(error, GW_EIO,
                           "there is no room for another job in %s (%s): %s must be free on that "
                           "disk, and it has %s; free some, or cancel jobs",
                           database->dir, strerror(rc), gw_text_bytes(RESERVE_BYTES, wants),
                           gw_text_bytes((uint64_t)disk.f_bavail * disk.f_frsize, has));
    return true;
}
