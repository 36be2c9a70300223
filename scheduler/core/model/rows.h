/* Rows that leave at the end of the step: their memory. send/ fills them in and sends them. */
#ifndef GW_SCHEDULER_CORE_ROWS_H
#define GW_SCHEDULER_CORE_ROWS_H

#include "scheduler/core/model/state.h"

/* Those with a place a row, and those with one a dependency: they grow together, so that one look
 * at the first of them tells whether there is room in all. */
#define EACH_ROW_COLUMN(X)                                                                         \
    X(job)                                                                                         \
    X(attempt)                                                                                     \
    X(index)                                                                                       \
    X(spec)                                                                                        \
    X(try_number)                                                                                  \
    X(rank)                                                                                        \
    X(gpu_count)                                                                                   \
    X(args_size)                                                                                   \
    X(dep_count)
#define EACH_DEP_COLUMN(X)                                                                         \
    X(dep_job)                                                                                     \
    X(dep_bytes)                                                                                   \
    X(dep_index)                                                                                   \
    X(dep_rank)                                                                                    \
    X(dep_worker)                                                                                  \
    X(dep_value_size)
#define EACH_COLUMN(X) EACH_ROW_COLUMN(X) EACH_DEP_COLUMN(X) X(gpus)
#define EACH_BLOB(X) X(args) X(dep_values)

/* Those of a `done`: all but the values have a place a row, and grow together. */
#define EACH_DONE_COLUMN(X) X(request) X(bytes) X(index) X(rank) X(value_size)

/* gw_assign_rows_of returns the rows of an `assign` to a worker. Rows have no worker while they are
 * empty: with many workers, memory of each one's own would have left all caches until its turn
 * comes again. gw_assign_rows_clear empties rows. */
struct gw_assign_rows *gw_assign_rows_of(struct gw_sched *sched, struct gw_worker *worker);
void gw_assign_rows_clear(struct gw_assign_rows *rows);

/* gw_sched_rows_take_back has rows that were lent for others to use: the step is over.
 * gw_sched_rows_forget takes a worker or a session that is gone out of what leaves at the end of
 * the step. */
void gw_sched_rows_take_back(struct gw_sched *sched);
void gw_sched_rows_forget(struct gw_sched *sched, const struct gw_worker *worker,
                          const struct gw_session *session);

/* gw_worker_rows_deinit and gw_done_rows_deinit free rows that were collected.
 * gw_sched_rows_deinit frees those that no worker has. */
void gw_worker_rows_deinit(struct gw_sched *sched, struct gw_worker *worker);
void gw_done_rows_deinit(struct gw_done_rows *rows);
void gw_sched_rows_deinit(struct gw_sched *sched);

#endif
