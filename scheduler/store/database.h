/* The database file of durable facts: an SQLite file with one row for each group of facts. Each row
 * has a hash of its content and of the previous hash, so that changed, swapped or missing rows are
 * detected.
 *
 * Calls block on the disk. Only one thread at a time may use a database. */
#ifndef GW_SCHEDULER_STORE_DATABASE_H
#define GW_SCHEDULER_STORE_DATABASE_H

#include "graph/wire/message.h"
#include "scheduler/store/cluster_id.h"

#include <limits.h>
#include <stdbool.h>

struct gw_database;

/* gw_database_open opens the facts of a state folder, or creates them (a new folder gets mode
 * 0700), and locks the folder until the database is closed or the process ends. Returns GW_EEXIST
 * if another scheduler uses the folder, GW_EVERSION if another version of Gangway wrote it,
 * GW_ECORRUPT if it is damaged, or empty or missing although an earlier term left other files, or
 * GW_EIO, also if the disk is full. Each error has a text that says what to do. After an error
 * nothing was changed. */
int gw_database_open(const char *dir, struct gw_database **database, struct gw_error *error);
void gw_database_close(struct gw_database *database);

/* gw_database_read appends all facts to `facts`. Returns GW_ECORRUPT if a row is damaged or if
 * fewer commits are present than were acknowledged, GW_EIO or GW_ENOMEM. Call it once, before the
 * first append. */
int gw_database_read(struct gw_database *database, struct gw_buffer *facts, struct gw_error *error);

/* gw_database_cluster returns the id of the cluster that numbers the jobs of this state (borrowed).
 * The id is made together with the state, and known after gw_database_read. */
const char *gw_database_cluster(const struct gw_database *database);

/* gw_database_commits returns the number of commits since the state was made. It is known after
 * gw_database_read. */
uint64_t gw_database_commits(const struct gw_database *database);

/* gw_database_lack records that `missing` commits are missing, so that every later gw_database_read
 * fails. gw_database_explain returns GW_ECORRUPT with a text that says how this is known (`known`)
 * and what to do. Any thread may call it. */
void gw_database_lack(struct gw_database *database, uint64_t missing);
int gw_database_explain(const struct gw_database *database, const char *known,
                        struct gw_error *error);

/* gw_database_fold moves the content of the log into the main file. It is called when there is
 * nothing to write. Content that cannot be moved stays in the log. */
void gw_database_fold(struct gw_database *database);

/* gw_database_append writes a group of facts. If it returns 0, the whole group is on disk,
 * otherwise nothing of it. If the disk is full, it uses the reserve, which gw_database_full then
 * reports. It returns GW_EIO if the reserve is not enough or the disk failed. Then it is unknown
 * what is on disk, and the process should end and be restarted. */
int gw_database_append(struct gw_database *database, const void *facts, size_t bytes,
                       struct gw_error *error);

/* gw_database_rewrite replaces all facts by these, with the results of gw_database_append. */
int gw_database_rewrite(struct gw_database *database, const void *facts, size_t bytes,
                        struct gw_error *error);

/* gw_database_lost returns true if the database file was removed or replaced. Facts that are
 * written to it then are lost. */
bool gw_database_lost(const struct gw_database *database);

/* gw_database_full tries to refill the reserve, and returns true if the reserve is used up, with
 * the reason in `error`. */
bool gw_database_full(const struct gw_database *database, struct gw_error *error);

#endif
