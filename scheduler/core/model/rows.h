/* Memory of the rows that are sent at the end of a step. The files of send/ fill the rows in and
 * send them. */
#ifndef GW_SCHEDULER_CORE_ROWS_H
#define GW_SCHEDULER_CORE_ROWS_H

#include "scheduler/core/model/state.h"

/* The arrays ("columns") of the message `assign`: those with one entry for each attempt (a "row"),
 * and those with one entry for each dependency. All arrays of a group have the same capacity, so
 * it is enough to check the first one. */
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

/* The columns of `done` with one entry for each row. They have the same capacity. */
#define EACH_DONE_COLUMN(X) X(request) X(bytes) X(index) X(rank) X(value_size)

/* gw_assign_rows_of returns the buffer for `assign` rows of a worker. A worker has no buffer of its
 * own while it has no rows: with many workers, each buffer would have left the CPU caches before
 * its next use. gw_assign_rows_clear empties a buffer. */
struct gw_assign_rows *gw_assign_rows_of(struct gw_sched *sched, struct gw_worker *worker);
void gw_assign_rows_clear(struct gw_assign_rows *rows);

/* gw_sched_rows_take_back makes buffers available again that the effects of a step used without a
 * copy. gw_sched_rows_forget removes the rows for a worker or session that has disconnected, so
 * that they are not sent at the end of the step. */
void gw_sched_rows_take_back(struct gw_sched *sched);
void gw_sched_rows_forget(struct gw_sched *sched, const struct gw_worker *worker,
                          const struct gw_session *session);

/* gw_worker_rows_deinit and gw_done_rows_deinit free collected rows. gw_sched_rows_deinit frees the
 * unused buffers. */
void gw_worker_rows_deinit(struct gw_sched *sched, struct gw_worker *worker);
void gw_done_rows_deinit(struct gw_done_rows *rows);
void gw_sched_rows_deinit(struct gw_sched *sched);

#endif
