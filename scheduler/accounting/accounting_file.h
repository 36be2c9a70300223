/* The file of the accounting: SQLite, with one row for each job. Calls block on the disk, and only
 * one thread at a time may use a file. After an error the file stays usable: the next call tries
 * again. */
#ifndef GW_SCHEDULER_ACCOUNTING_FILE_H
#define GW_SCHEDULER_ACCOUNTING_FILE_H

#include "scheduler/core/model/accounting_row.h"

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>

struct sqlite3;
struct sqlite3_stmt;

struct gw_accounting_file {
    struct sqlite3 *sqlite; /* NULL: not open */
    struct sqlite3_stmt *insert, *replace;
};

/* gw_accounting_file_open opens the file at `path`, or creates it with mode 0600. Returns GW_EIO
 * (also for a file that another program has locked), GW_ECORRUPT, or GW_EVERSION if another version
 * of Gangway wrote it. Each text names the path and says what to do. */
int gw_accounting_file_open(const char *path, struct gw_accounting_file *file,
                            struct gw_error *error);
void gw_accounting_file_close(struct gw_accounting_file *file);

/* gw_accounting_file_moved: whether the open file was removed, or another file is at its path. */
bool gw_accounting_file_moved(const struct gw_accounting_file *file);

/* gw_accounting_file_store stores `count` rows of a cluster, all or none. A row replaces an earlier
 * row of the same cluster and job. Returns 0, GW_EIO or GW_ECORRUPT. */
int gw_accounting_file_store(struct gw_accounting_file *file, const char *cluster,
                             const struct gw_accounting_row *const *rows, size_t count,
                             struct gw_error *error);

/* gw_accounting_file_show makes these the rows of jobs that run, in place of earlier ones. They are
 * not stored. The view `used` has them and the stored rows, each job once. Errors as above. */
int gw_accounting_file_show(struct gw_accounting_file *file, const char *cluster,
                            const struct gw_accounting_row *const *rows, size_t count,
                            struct gw_error *error);

/* gw_accounting_file_trim removes the rows of jobs that ended before a time (ns since 1970). */
int gw_accounting_file_trim(struct gw_accounting_file *file, uint64_t before_ns,
                            struct gw_error *error);

/* gw_accounting_file_number reads the number in the first row of a statement; NULL reads as 0. */
int gw_accounting_file_number(struct gw_accounting_file *file, const char *sql, int64_t *number,
                              struct gw_error *error);

/* gw_accounting_file_failed makes an error from the last error of SQLite. */
int gw_accounting_file_failed(const struct gw_accounting_file *file, struct gw_error *error);

#endif
