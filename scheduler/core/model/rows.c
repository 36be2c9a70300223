/* Memory of the rows that are sent at the end of a step. The files of send/ fill the rows in and
 * send them. */
#include "scheduler/core/model/rows.h"

#include <stdlib.h>

enum { SPARE_MAX = 1024 /* kept row buffers: enough for the workers of most steps */ };

void gw_assign_rows_clear(struct gw_assign_rows *rows)
{
#define CLEAR(column) gw_array_clear(&rows->column);
    EACH_COLUMN(CLEAR)
    EACH_BLOB(CLEAR)
#undef CLEAR
}

static void rows_free(struct gw_assign_rows *rows)
{
#define DEINIT(column) gw_array_deinit(&rows->column);
    EACH_COLUMN(DEINIT)
    EACH_BLOB(DEINIT)
#undef DEINIT
    free(rows);
}

/* Returns the row buffer of a worker. A worker without one gets the most recently used free buffer.
 */
struct gw_assign_rows *gw_assign_rows_of(struct gw_sched *sched, struct gw_worker *worker)
{
    if (worker->rows.assign)
        return worker->rows.assign;
    if (sched->step.spare_rows.count > 0) {
        worker->rows.assign = sched->step.spare_rows.items[--sched->step.spare_rows.count];
        return worker->rows.assign;
    }
    worker->rows.assign = calloc(1, sizeof *worker->rows.assign);
    GW_MUST_PTR(worker->rows.assign);
    return worker->rows.assign;
}

static void rows_spare(struct gw_sched *sched, struct gw_assign_rows *rows)
{
    if (sched->step.spare_rows.count == SPARE_MAX) {
        rows_free(rows);
        return;
    }
    gw_assign_rows_clear(rows);
    GW_MUST(gw_array_push(&sched->step.spare_rows, rows));
}

void gw_sched_rows_take_back(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->step.lent_rows.count; i++)
        rows_spare(sched, sched->step.lent_rows.items[i]);
    gw_array_clear(&sched->step.lent_rows);
}

void gw_sched_rows_deinit(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->step.lent_rows.count; i++)
        rows_free(sched->step.lent_rows.items[i]);
    for (size_t i = 0; i < sched->step.spare_rows.count; i++)
        rows_free(sched->step.spare_rows.items[i]);
    gw_array_deinit(&sched->step.lent_rows);
    gw_array_deinit(&sched->step.spare_rows);
}

void gw_done_rows_deinit(struct gw_done_rows *rows)
{
#define DEINIT(column) gw_array_deinit(&rows->column);
    EACH_DONE_COLUMN(DEINIT)
    DEINIT(values)
#undef DEINIT
}

void gw_sched_rows_forget(struct gw_sched *sched, const struct gw_worker *worker,
                          const struct gw_session *session)
{
    for (size_t i = sched->step.dirty_workers.count; i-- > 0;)
        if (sched->step.dirty_workers.items[i] == worker)
            gw_array_remove_swap(&sched->step.dirty_workers, i);
    for (size_t i = sched->step.dirty_sessions.count; i-- > 0;)
        if (sched->step.dirty_sessions.items[i] == session)
            gw_array_remove_swap(&sched->step.dirty_sessions, i);
}

void gw_worker_rows_deinit(struct gw_sched *sched, struct gw_worker *worker)
{
    if (worker->rows.assign)
        rows_spare(sched, worker->rows.assign);
    worker->rows.assign = NULL;
    gw_array_deinit(&worker->rows.release.job);
    gw_array_deinit(&worker->rows.release.index);
    gw_array_deinit(&worker->rows.release.rank);
    gw_array_deinit(&worker->rows.kill.attempt);
}
