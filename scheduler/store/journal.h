/* The journal of durable facts, in the order in which the core decided them.
 *
 * In memory for now: what is committed lives as long as the scheduler. The commit is asynchronous
 * already, so that a journal on disk changes nothing above it. */
#ifndef GW_SCHEDULER_STORE_JOURNAL_H
#define GW_SCHEDULER_STORE_JOURNAL_H

#include "graph/wire/message.h"

#include <uv.h>

struct gw_journal;

/* gw_journal_open makes an empty journal on a loop; on_committed(number, arg) runs in a later turn
 * of it, with the number of the last fact of the group that was committed. */
struct gw_journal_callbacks {
    void (*on_committed)(uint64_t number, void *arg);
    void *arg;
};
int gw_journal_open(uv_loop_t *loop, const struct gw_journal_callbacks *callbacks,
                    struct gw_journal **journal);

/* gw_journal_append copies a fact; numbers grow by one. 0 or GW_ENOMEM. */
int gw_journal_append(struct gw_journal *journal, uint64_t number, struct gw_bin fact);

/* gw_journal_bytes is the size of all facts. */
size_t gw_journal_bytes(const struct gw_journal *journal);

/* gw_journal_close ends it; it is freed in a later turn, no callback follows. */
void gw_journal_close(struct gw_journal *journal);

#endif
