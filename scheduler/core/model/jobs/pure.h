/* Pure tasks: tasks of the same user with the same program, function and arguments give the same
 * result, which is computed only once.
 *
 * The first such task is the original. It is found by a digest of everything that its result
 * depends on. A task that is submitted while the original exists becomes an alias of it: a row that
 * depends only on the original, ends as it does, and has its result. Everything else
 * (announcements, successors, losses, restarts, cancellation) follows from this dependency. */
#ifndef GW_SCHEDULER_CORE_PURE_H
#define GW_SCHEDULER_CORE_PURE_H

#include "graph/base/digest.h"
#include "scheduler/core/model/state.h"

/* An entry for an original. */
struct gw_pure {
    struct gw_digest digest;
    struct gw_job *job;
    uint32_t index;
    bool retained;  /* the result of the task is kept for later tasks with the same arguments,
                   although no task needs it now */
    uint64_t bytes; /* size of the kept result */
    struct gw_pure *prev, *next; /* list of kept results, the last used first */
};

/* Position of a task in a chunk. at: the task; edge: its first dependency in the chunk. */
struct gw_chunk_row_at {
    const struct gw_msg_submit *chunk;
    uint32_t at, edge;
    const uint8_t *args; /* its arguments */
};

/* gw_sched_pure_find returns true, and sets *original, if a task that is not added yet can share
 * the result of an original. It reads the shares that were decided (fact pure_shared) for earlier
 * rows of the job. */
bool gw_sched_pure_find(struct gw_sched *sched, struct gw_job *job,
                        const struct gw_chunk_row_at *row, struct gw_row *original);

/* gw_sched_pure_add is called for every task of a chunk while the task is added, before its
 * dependencies are. It returns true, and sets *original, if the task shares the result of an
 * original. Otherwise the task may become an original itself. A task of a detached job shares a
 * result only if that was decided. */
bool gw_sched_pure_add(struct gw_sched *sched, struct gw_job *job,
                       const struct gw_chunk_row_at *row, struct gw_row *original);

/* gw_sched_pure_alias_of finds the original of an alias. Returns false for any other task. */
bool gw_sched_pure_alias_of(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                            struct gw_row *original);

/* gw_sched_pure_forget stops sharing a task's result from now on. The task need not be an
 * original. gw_sched_pure_free does this for all tasks of a job that is freed. */
void gw_sched_pure_forget(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_pure_free(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_pure_unretain gives up a kept result that was lost. Returns true if it was kept. */
bool gw_sched_pure_unretain(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_pure_of returns the entry of a task, or NULL if the task is not an original. */
struct gw_pure *gw_sched_pure_of(const struct gw_job *job, uint32_t row);

/* gw_sched_pure_link adds a kept result as the last used one, and counts its bytes. */
void gw_sched_pure_link(struct gw_sched *sched, struct gw_pure *pure);

/* gw_sched_pure_drop: a result that was kept for who asks next is kept no more. */
void gw_sched_pure_drop(struct gw_sched *sched, struct gw_job *job, uint32_t index);

#endif
