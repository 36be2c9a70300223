/* Edges: what each row of a job comes after, and who comes after it. */
#ifndef GW_SCHEDULER_CORE_EDGE_H
#define GW_SCHEDULER_CORE_EDGE_H

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/state.h"

#define GW_EDGES_MAX (UINT32_C(1) << 31) /* of a job */

/* gw_sched_edges_reserve makes room for `extra` more edges; gw_sched_edges_compact keeps what each
 * row comes after, to be shown, and nothing else; gw_sched_edges_deinit frees all. */
void gw_sched_edges_reserve(struct gw_tasks *tasks, uint32_t extra);
void gw_sched_edges_compact(struct gw_tasks *tasks);
void gw_sched_edges_deinit(struct gw_tasks *tasks);

/* gw_sched_edge_add appends an edge of a row, in reserved room, and gives the task that it comes
 * from; rows get theirs in their order. gw_sched_edges_link then has the rows from `first` on
 * follow what they come after. gw_sched_edge_later_add lets row `index` of another job
 * (GW_INDEX_ALL: all rows of a range) follow a row. For apply functions. */
struct gw_row gw_sched_edge_add(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                const struct gw_edge *from);
void gw_sched_edges_link(struct gw_sched *sched, struct gw_job *job, uint32_t first);
void gw_sched_edge_later_add(struct gw_job *of, uint32_t row, uint64_t job, uint32_t index);

static inline uint32_t gw_sched_dep_rank(const struct gw_tasks *tasks, uint32_t edge)
{
    return gw_sched_edge(tasks, edge).rank;
}

/* gw_sched_dep gives the task that an edge of a job comes from; false when its job was forgotten.
 */
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

/* gw_sched_dep_ahead is the row of the same job that an edge GW_EDGES_AHEAD further on comes from,
 * and row 0 where there is none: what is read of one edge after the other lies anywhere in the
 * columns, and is asked for that many ahead. */
enum { GW_EDGES_AHEAD = 16 };
static inline uint32_t gw_sched_dep_ahead(const struct gw_tasks *tasks, uint32_t edge)
{
    uint32_t ahead = edge + GW_EDGES_AHEAD;
    uint32_t from = ahead < tasks->edges ? tasks->dep[ahead] : GW_EDGE_FAR;
    return from & GW_EDGE_FAR ? 0 : from & ~GW_EDGE_AFTER;
}

/* gw_sched_edge_ahead asks for what gw_sched_edge_row and a walk along the successors read. */
void gw_sched_edge_ahead(const struct gw_tasks *tasks, uint32_t edge);

/* gw_sched_edge_row is the row that an edge leads to; not for a range, whose rows share theirs. */
uint32_t gw_sched_edge_row(const struct gw_tasks *tasks, uint32_t edge);

/* The tasks that wait for a row's end; one whose job was forgotten has no job. link GW_NO_INDEX:
 * there are no more. */
struct gw_successors {
    struct gw_job *job;
    uint32_t link;
};

/* gw_sched_edge_successors_of begins a walk over the tasks that wait for a row's end (none, if the
 * job is compacted); gw_sched_edge_successors_next gives the next one, false behind the last. */
struct gw_successors gw_sched_edge_successors_of(struct gw_job *job, uint32_t row);
bool gw_sched_edge_successors_next(const struct gw_sched *sched, struct gw_successors *from,
                                   struct gw_row *row);

/* gw_sched_edge_successors calls visit for every task that waits for a row's end, with one call an
 * edge; ones whose job was forgotten are left out. */
void gw_sched_edge_successors(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              void (*visit)(struct gw_sched *sched, struct gw_job *job,
                                            uint32_t row));

#endif
