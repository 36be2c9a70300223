/* The journal of durable facts, in the order in which the core decided them.
 *
 * With a folder, the facts are on disk (database.h). A separate thread commits all facts that were
 * appended since its last commit together. Without a folder, facts are not stored, and count as
 * committed as long as the process lives. All functions are called on the loop's thread. */
#ifndef GW_SCHEDULER_STORE_JOURNAL_H
#define GW_SCHEDULER_STORE_JOURNAL_H

#include "graph/wire/message.h"

#include <stdbool.h>
#include <uv.h>

struct gw_journal;

/* Callbacks. They run on the loop's thread, in a later turn than their cause. */
struct gw_journal_callbacks {
    /* All facts up to this number are on disk. */
    void (*on_committed)(uint64_t number, void *arg);
    /* The disk is too full for new jobs (`why` says more), or has room again (NULL). */
    void (*on_room)(const struct gw_error *why, void *arg);
    /* The disk failed and nothing more is committed. The process should end and be restarted. */
    void (*on_failed)(const struct gw_error *error, void *arg);
    void *arg;
};

/* gw_journal_open opens the journal of a folder (borrowed during the call; NULL: in memory) and
 * appends its facts to `facts`. Returns the errors of gw_database_open and gw_database_read. */
int gw_journal_open(uv_loop_t *loop, const char *dir, const struct gw_journal_callbacks *callbacks,
                    struct gw_buffer *facts, struct gw_journal **journal, struct gw_error *error);

/* gw_journal_cluster returns the id of the cluster that numbers these jobs (borrowed). Without a
 * folder, the id is only valid for this term. */
const char *gw_journal_cluster(const struct gw_journal *journal);

/* gw_journal_commits returns the number of commits that are known to be on disk: at the open of the
 * state, and then as of the last on_committed. Without a folder it returns 0. */
uint64_t gw_journal_commits(const struct gw_journal *journal);

/* gw_journal_lack says that `missing` commits are not in what was read. This is noted when the
 * journal is closed, and later opens of the folder fail. Returns the error of gw_database_explain.
 */
int gw_journal_lack(struct gw_journal *journal, uint64_t missing, const char *known,
                    struct gw_error *error);

/* gw_journal_rewrite replaces all facts at once. Call it before the first append. */
int gw_journal_rewrite(struct gw_journal *journal, const struct gw_buffer *facts,
                       struct gw_error *error);

/* gw_journal_append appends a copy of a fact. Fact numbers increase. A lazy fact is committed with
 * the next fact that is not lazy, or GW_JOURNAL_LAZY_MS later. Returns 0 or GW_ENOMEM. */
enum { GW_JOURNAL_LAZY_MS = 50 };
int gw_journal_append(struct gw_journal *journal, uint64_t number, struct gw_bin fact, bool lazy);

/* gw_journal_add_file makes sure that the file at `path` (copied) is on disk before facts that are
 * appended later. A missing file is skipped. `journal` is a struct gw_journal *, as void * because
 * this function is used as a callback. */
void gw_journal_add_file(const char *path, void *journal);

/* gw_journal_sync waits until all appended facts are on disk. on_committed is still called later.
 * Returns GW_EIO with a text if the disk failed. */
int gw_journal_sync(struct gw_journal *journal, struct gw_error *error);

/* gw_journal_lost returns true if the file of the facts was removed, as the thread found in the
 * last seconds. Since then nothing is committed and nothing is reported. The owner should end the
 * process. */
bool gw_journal_lost(struct gw_journal *journal);

/* gw_journal_close commits all appended facts and closes the journal. It is freed in a later turn
 * of the loop. No callback is called after this. */
void gw_journal_close(struct gw_journal *journal);

#endif
