/* Pure tasks: the same user, program, function and arguments give the same result, computed once.
 *
 * The first such task is the original, found by the digest of all that its result depends on. A
 * task that is submitted while the original lives becomes its alias: a row that waits for the
 * original alone, ends as it does, and whose result is the original's. Everything else about it
 * (who is told, what depends on it, losses, retries, cancels) follows through the graph. */
#ifndef GW_SCHEDULER_CORE_PURE_H
#define GW_SCHEDULER_CORE_PURE_H

#include "graph/base/digest.h"
#include "scheduler/core/model/state.h"

/* An original. */
struct gw_pure {
    struct gw_digest digest;
    struct gw_job *job;
    uint32_t index;
    bool kept;                   /* counts among the row's users, though nobody needs it now */
    uint64_t bytes;              /* of the kept result */
    struct gw_pure *prev, *next; /* of those that are kept, the one used last first */
};

/* Where a row is in a chunk. at: the row; edge: its first one there. */
struct gw_chunk_row_at {
    const struct gw_msg_submit *chunk;
    uint32_t at, edge;
};

/* gw_sched_pure_add is asked for every row of a chunk while the row is being added, before its
 * edges: true if it shares an original's result, whose row is then given; else it may become an
 * original itself. */
bool gw_sched_pure_add(struct gw_sched *sched, struct gw_job *job,
                       const struct gw_chunk_row_at *row, struct gw_row *original);

/* gw_sched_pure_alias_of gives the original of an alias; false for any other row. */
bool gw_sched_pure_alias_of(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                            struct gw_row *original);

/* gw_sched_pure_forget: from now on nobody shares this row's result (NULL-safe: it may be no
 * original). gw_sched_pure_free does so for a job that goes. */
void gw_sched_pure_forget(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_pure_free(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_pure_unkeep gives up a kept result that was lost; true if it was kept. */
bool gw_sched_pure_unkeep(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_pure_of gives a row's entry; NULL when it is no original. */
struct gw_pure *gw_sched_pure_of(const struct gw_job *job, uint32_t row);

/* gw_sched_pure_link lists a kept result as the one used last, and counts its bytes. */
void gw_sched_pure_link(struct gw_sched *sched, struct gw_pure *pure);

#endif
