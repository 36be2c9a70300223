/* The file that durable facts lie in: SQLite, one row a group of facts, each with a hash over its
 * content and the hash before it, so that what was changed, swapped or taken out is seen.
 *
 * Calls block on the disk; one thread at a time. */
#ifndef GW_SCHEDULER_STORE_DATABASE_H
#define GW_SCHEDULER_STORE_DATABASE_H

#include "graph/wire/message.h"
#include "scheduler/store/cluster_id.h"

#include <limits.h>
#include <stdbool.h>

struct gw_database;

/* gw_database_open opens, or makes, the facts of a state folder (made with mode 0700 where it is
 * not there) and locks the folder, until it is closed or the process is gone. GW_EEXIST where
 * another scheduler has it, GW_EVERSION where another version of Gangway wrote it, GW_ECORRUPT
 * where it is damaged, or empty or gone beside what an earlier life left, GW_EIO, also if there is
 * no room: each with a text that says what to do; nothing was changed then. */
int gw_database_open(const char *dir, struct gw_database **database, struct gw_error *error);
void gw_database_close(struct gw_database *database);

/* gw_database_read appends all facts to `facts`. GW_ECORRUPT where a row is not what was written,
 * or fewer commits are there than were acknowledged, GW_EIO, GW_ENOMEM. To be called once, before
 * the first append. */
int gw_database_read(struct gw_database *database, struct gw_buffer *facts, struct gw_error *error);

/* gw_database_cluster gives the id of the cluster whose jobs are numbered here: made with the
 * state, and known once it was read; borrowed. */
const char *gw_database_cluster(const struct gw_database *database);

/* gw_database_commits gives how many commits there were since it was made, known likewise. */
uint64_t gw_database_commits(const struct gw_database *database);

/* gw_database_lack notes that so many commits are missing: no gw_database_read takes it any more.
 * gw_database_explain gives GW_ECORRUPT, with a text of how that is known (`known`) and of what to
 * do; on any thread. */
void gw_database_lack(struct gw_database *database, uint64_t missing);
int gw_database_explain(const struct gw_database *database, const char *known,
                        struct gw_error *error);

/* gw_database_fold moves the log into the file, so that little lies in the log; for when nothing is
 * to be written. What cannot be moved stays in the log. */
void gw_database_fold(struct gw_database *database);

/* gw_database_append adds a group of facts: it is on disk, whole, when this returns 0, and not at
 * all otherwise. Where the disk is full it takes what was kept in reserve and tells so by
 * gw_database_full; GW_EIO when that is not enough, or the disk failed: what is on disk is not
 * known to be so any more, and the process should end and begin again. */
int gw_database_append(struct gw_database *database, const void *facts, size_t bytes,
                       struct gw_error *error);

/* gw_database_rewrite puts these facts in the place of all; as gw_database_append. */
int gw_database_rewrite(struct gw_database *database, const void *facts, size_t bytes,
                        struct gw_error *error);

/* gw_database_lost tells whether the file is no more where it was made: what is written to it then
 * nobody reads again. */
bool gw_database_lost(const struct gw_database *database);

/* gw_database_full tells whether the reserve is used up, after it has tried to fill it again. Then
 * text says why. */
bool gw_database_full(const struct gw_database *database, struct gw_error *error);

#endif
