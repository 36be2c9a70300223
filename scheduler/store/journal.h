/* The journal of durable facts, in the order in which the core decided them.
 *
 * With a folder it lies on disk (database.h): a thread of its own commits whatever has come since
 * its last commit together. Without one nothing is kept, and what is committed lives as long as the
 * process. Functions are called on the loop's thread. */
#ifndef GW_SCHEDULER_STORE_JOURNAL_H
#define GW_SCHEDULER_STORE_JOURNAL_H

#include "graph/wire/message.h"

#include <stdbool.h>
#include <uv.h>

struct gw_journal;

/* All run on the loop's thread, in a later turn than what they are about. */
struct gw_journal_callbacks {
    /* All facts up to this number are on disk. */
    void (*on_committed)(uint64_t number, void *arg);
    /* There is no room for more jobs, as `why` says, or there is room again (NULL). */
    void (*on_room)(const struct gw_error *why, void *arg);
    /* The disk failed; nothing more is committed: the process should end, and begin again. */
    void (*on_failed)(const struct gw_error *error, void *arg);
    void *arg;
};

/* gw_journal_open opens the journal of a folder (borrowed during the call; NULL: in memory), and
 * appends what it holds to `facts`. What gw_database_open and gw_database_read give. */
int gw_journal_open(uv_loop_t *loop, const char *dir, const struct gw_journal_callbacks *callbacks,
                    struct gw_buffer *facts, struct gw_journal **journal, struct gw_error *error);

/* gw_journal_cluster gives the id of the cluster whose jobs these facts number (borrowed); without
 * a folder, of this life's alone. */
const char *gw_journal_cluster(const struct gw_journal *journal);

/* gw_journal_commits gives how many commits the state had as it was opened, and then as far as
 * on_committed has told; 0: there is no folder. */
uint64_t gw_journal_commits(const struct gw_journal *journal);

/* gw_journal_lack says that so many commits are missing from what was read: when this journal is
 * closed that is noted, and no other one opens the folder. What gw_database_explain gives. */
int gw_journal_lack(struct gw_journal *journal, uint64_t missing, const char *known,
                    struct gw_error *error);

/* gw_journal_rewrite puts these facts in the place of all, at once; before the first append. */
int gw_journal_rewrite(struct gw_journal *journal, const struct gw_buffer *facts,
                       struct gw_error *error);

/* gw_journal_append copies a fact; numbers grow by one. 0 or GW_ENOMEM. */
int gw_journal_append(struct gw_journal *journal, uint64_t number, struct gw_bin fact);

/* gw_journal_keep has the file at `path` (copied) be on disk before what is appended from now on;
 * one that is not there is passed over. journal: a struct gw_journal, for whom calls it back. */
void gw_journal_keep(const char *path, void *journal);

/* gw_journal_sync waits until all that was appended is on disk; on_committed follows all the same.
 * GW_EIO with text where the disk failed. */
int gw_journal_sync(struct gw_journal *journal, struct gw_error *error);

/* gw_journal_lost tells whether the file of the facts is no more where it was, as its thread found
 * in the last seconds: nothing is committed since then, and nobody is told. The owner is to end. */
bool gw_journal_lost(struct gw_journal *journal);

/* gw_journal_close commits what was appended, and ends it; it is freed in a later turn, no callback
 * follows. */
void gw_journal_close(struct gw_journal *journal);

#endif
