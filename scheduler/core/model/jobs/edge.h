/* Dependencies ("edges"): what each task of a job depends on, and the successors of each task. */
#ifndef GW_SCHEDULER_CORE_EDGE_H
#define GW_SCHEDULER_CORE_EDGE_H

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/state.h"

#define GW_EDGES_MAX (UINT32_C(1) << 31) /* of a job */

/* gw_sched_edges_reserve makes room for `extra` more dependencies. gw_sched_edges_compact keeps
 * only what each row depends on, for listings. gw_sched_edges_deinit frees all. */
void gw_sched_edges_reserve(struct gw_tasks *tasks, uint32_t extra);
void gw_sched_edges_compact(struct gw_tasks *tasks);
void gw_sched_edges_deinit(struct gw_tasks *tasks);

/* gw_sched_edge_add appends a dependency of a task, in reserved room, and returns the task that
 * the task depends on. Dependencies must be added in the order of the tasks. gw_sched_edges_link
 * then adds the tasks from `first` on to the successor lists of their dependencies.
 * gw_sched_edge_later_add makes task `index` of another job (GW_INDEX_ALL: all tasks of a range) a
 * successor of a task. Only for use in model/. */
struct gw_row gw_sched_edge_add(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                const struct gw_edge *from);
void gw_sched_edges_link(struct gw_sched *sched, struct gw_job *job, uint32_t first);
void gw_sched_edge_later_add(struct gw_job *of, uint32_t row, uint64_t job, uint32_t index);

static inline uint32_t gw_sched_dep_rank(const struct gw_tasks *tasks, uint32_t edge)
{
    return gw_sched_edge(tasks, edge).rank;
}

/* gw_sched_dep finds the task that a dependency names. Returns false if its job was forgotten. */
bool gw_sched_edge_dep_far(const struct gw_sched *sched, struct gw_job *job, uint32_t edge,
                           struct gw_row *dep);
static inline bool gw_sched_dep(const struct gw_sched *sched, struct gw_job *job, uint32_t edge,
                                struct gw_row *dep)
{
    uint32_t from = job->tasks.dep[edge];
    if (from & GW_EDGE_FAR)
        return gw_sched_edge_dep_far(sched, job, edge, dep);
    dep->job = job;
    dep->index = from & ~GW_EDGE_AFTER;
    return true;
}

/* gw_sched_dep_ahead returns the row of the same job that the dependency GW_EDGES_AHEAD positions
 * later names, or row 0 if there is none. Loops over dependencies prefetch the data of that row,
 * because the rows are spread over the columns. */
enum { GW_EDGES_AHEAD = 16 };
static inline uint32_t gw_sched_dep_ahead(const struct gw_tasks *tasks, uint32_t edge)
{
    uint32_t ahead = edge + GW_EDGES_AHEAD;
    uint32_t from = ahead < tasks->edges ? tasks->dep[ahead] : GW_EDGE_FAR;
    return from & GW_EDGE_FAR ? 0 : from & ~GW_EDGE_AFTER;
}

/* gw_sched_edge_ahead prefetches what gw_sched_edge_row and a walk along the successors read. */
void gw_sched_edge_ahead(const struct gw_tasks *tasks, uint32_t edge);

/* gw_sched_edge_row returns the task to which a dependency belongs. Not for a range, whose tasks
 * share their dependencies. */
uint32_t gw_sched_edge_row(const struct gw_tasks *tasks, uint32_t edge);

/* Position in a walk over the successors of a task. A successor whose job was forgotten has no
 * job. link GW_NO_INDEX: no more successors. */
struct gw_successors {
    struct gw_job *job;
    uint32_t link;
};

/* gw_sched_edge_successors_of begins a walk over the successors of a task (none if the job is
 * compacted). gw_sched_edge_successors_next returns the next one, or false after the last. */
struct gw_successors gw_sched_edge_successors_of(struct gw_job *job, uint32_t row);
bool gw_sched_edge_successors_next(const struct gw_sched *sched, struct gw_successors *from,
                                   struct gw_row *row);

/* gw_sched_edge_successors calls visit for every successor of a task, once for each dependency.
 * Successors whose job was forgotten are skipped. */
void gw_sched_edge_successors(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              void (*visit)(struct gw_sched *sched, struct gw_job *job,
                                            uint32_t row));

#endif
