/* The file that durable facts lie in: SQLite, one row a group of facts, each with a hash over its
 * content and the hash before it, so that what was changed, swapped or taken out is seen.
 *
 * Calls block on the disk; one thread at a time. */
#ifndef GW_SCHEDULER_STORE_DATABASE_H
#define GW_SCHEDULER_STORE_DATABASE_H

#include "graph/wire/message.h"

#include <stdbool.h>

struct gw_database;

/* gw_database_open opens, or makes, the facts of a state folder (made with mode 0700 where it is
 * not there) and locks the folder, until it is closed or the process is gone. GW_EEXIST where
 * another scheduler has it, GW_EVERSION where another version of Gangway wrote it, GW_ECORRUPT
 * where it is damaged, or empty or gone beside what an earlier life left, GW_EIO: each with a text
 * that says what to do; nothing was changed then. */
int gw_database_open(const char *dir, struct gw_database **database, struct gw_error *error);
void gw_database_close(struct gw_database *database);

/* gw_database_read appends all facts to `facts`. GW_ECORRUPT where a row is not what was written,
 * GW_EIO, GW_ENOMEM. To be called before the first append. */
int gw_database_read(struct gw_database *database, struct gw_buffer *facts, struct gw_error *error);

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
bool gw_database_full(struct gw_database *database, struct gw_error *error);

#endif
