/* Dependencies between tasks ("edges").
 *
 * A dependency takes eight bytes. The dependencies of a row are adjacent, in the order of the rows
 * (columns deps_at and dep). The successors of a row are a list through the column `next`, which
 * begins at tasks->succ[row]. The row to which a dependency belongs is not stored. It is found by a
 * search in deps_at, which is sorted. The column edge_rows narrows this search: it has the row of
 * every 256th dependency. A link whose highest bit is set is an index into `laters`, a successor in
 * another job. */
#include "scheduler/core/model/jobs/edge.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/job.h"

#include <assert.h>
#include <stdlib.h>

enum { BLOCK = 256 /* dependencies */ };
#define LINK_LATER (UINT32_C(1) << 31)

/* -- The table -------------------------------------------------------------------------------- */

static void resize(uint32_t **column, size_t count)
{
    *column = realloc(*column, count * sizeof **column);
    GW_MUST_PTR(*column);
}

void gw_sched_edges_reserve(struct gw_tasks *tasks, uint32_t extra)
{
    uint32_t capacity = tasks->edges + extra;
    if (capacity <= tasks->edges_capacity)
        return;
    if (tasks->edges && capacity / 2 < tasks->edges_capacity)
        capacity = tasks->edges_capacity * 2;
    resize(&tasks->dep, capacity);
    resize(&tasks->next, capacity);
    resize(&tasks->edge_rows, capacity / BLOCK + 1);
    tasks->edges_capacity = capacity;
}

void gw_sched_edges_compact(struct gw_tasks *tasks)
{
    uint32_t *dep = tasks->edges ? realloc(tasks->dep, tasks->edges * sizeof *dep) : NULL;
    free(tasks->next);
    free(tasks->edge_rows);
    if (tasks->edges == 0)
        free(tasks->dep);
    tasks->dep = dep || tasks->edges == 0 ? dep : tasks->dep;
    tasks->next = tasks->edge_rows = NULL;
    tasks->edges_capacity = tasks->edges;
    gw_array_deinit(&tasks->laters);
}

void gw_sched_edges_deinit(struct gw_tasks *tasks)
{
    free(tasks->dep);
    free(tasks->next);
    free(tasks->edge_rows);
    tasks->dep = tasks->next = tasks->edge_rows = NULL;
    tasks->edges = tasks->edges_capacity = 0;
    gw_array_deinit(&tasks->far);
    gw_array_deinit(&tasks->laters);
}

bool gw_sched_edge_dep_far(const struct gw_sched *sched, struct gw_job *job, uint32_t edge,
                           struct gw_row *dep)
{
    const struct gw_edge from = gw_sched_edge(&job->tasks, edge);
    dep->job = from.job ? gw_sched_job_find(sched, from.job) : job;
    dep->index = from.index;
    return dep->job != NULL;
}

void gw_sched_edge_ahead(const struct gw_tasks *tasks, uint32_t edge)
{
    __builtin_prefetch(&tasks->next[edge]);
    __builtin_prefetch(&tasks->edge_rows[edge / BLOCK]);
}

/* Narrows the range [*low, *high] of possible tasks of a dependency. Tasks of a block mostly have
 * about the same number of dependencies, so the search starts at the task that this would give. */
static void guess_row(const uint32_t *deps_at, uint32_t edge, uint32_t *low, uint32_t *high)
{
    uint32_t guess = *low + (uint32_t)((uint64_t)(*high - *low) * (edge % BLOCK) / BLOCK), step = 1;
    if (deps_at[guess] <= edge) {
        for (*low = guess; *high - *low > step && deps_at[*low + step] <= edge; step *= 2)
            *low += step;
        *high = *high - *low > step ? *low + step - 1 : *high;
    } else {
        for (*high = guess - 1; *high - *low > step && deps_at[*high - step] > edge; step *= 2)
            *high -= step + 1;
        *low = *high - *low > step ? *high - step : *low;
    }
}

uint32_t gw_sched_edge_row(const struct gw_tasks *tasks, uint32_t edge)
{
    uint32_t block = edge / BLOCK, blocks = (tasks->edges - 1) / BLOCK;
    uint32_t low = tasks->edge_rows[block];
    uint32_t high = block < blocks ? tasks->edge_rows[block + 1] : tasks->count - 1;
    guess_row(tasks->deps_at, edge, &low, &high);
    while (low < high) { /* find the last row whose first dependency is this dependency or an
                            earlier one */
        uint32_t middle = high - (high - low) / 2;
        if (tasks->deps_at[middle] <= edge)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* -- Adding ----------------------------------------------------------------------------------- */

struct gw_row gw_sched_edge_add(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                const struct gw_edge *from)
{
    struct gw_tasks *tasks = &job->tasks;
    uint32_t edge = tasks->edges++;
    if (edge % BLOCK == 0)
        tasks->edge_rows[edge / BLOCK] = row;
    tasks->next[edge] = GW_NO_INDEX;
    if (from->job == 0 && (from->rank == 0 || from->rank == GW_DEP_AFTER)) {
        tasks->dep[edge] = from->index | (from->rank ? GW_EDGE_AFTER : 0);
    } else {
        tasks->dep[edge] = GW_EDGE_FAR | (uint32_t)tasks->far.count;
        GW_MUST(gw_array_push(&tasks->far, *from));
    }
    struct gw_row dep;
    bool known = gw_sched_dep(sched, job, edge, &dep);
    assert(known);
    if (dep.job != job)
        dep.job->borrowers++;
    uint8_t state = dep.job->tasks.state[dep.index];
    /* The result was lost before this chunk arrived. */
    if (state == GW_TASK_RELEASED && from->rank != GW_DEP_AFTER)
        GW_MUST(gw_array_push(&sched->lost, dep));
    return dep;
}

/* Adds tasks to the successor lists of their dependencies. Walks the dependencies backwards: each
 * is pushed at the front of its list, so the list ends up in the order of the chunk. */
void gw_sched_edges_link(struct gw_sched *sched, struct gw_job *job, uint32_t first)
{
    struct gw_tasks *tasks = &job->tasks;
    for (uint32_t row = tasks->count; row-- > first;)
        for (uint32_t e = gw_sched_deps_end(tasks, row); e-- > tasks->deps_at[row];) {
            struct gw_row dep;
            if (e >= 2 * GW_EDGES_AHEAD)
                __builtin_prefetch(&tasks->succ[gw_sched_dep_ahead(tasks, e - 2 * GW_EDGES_AHEAD)]);
            (void)gw_sched_dep(sched, job, e, &dep);
            if (dep.job != job) {
                gw_sched_edge_later_add(dep.job, dep.index, job->id, row);
                continue;
            }
            tasks->next[e] = tasks->succ[dep.index];
            tasks->succ[dep.index] = e;
        }
}

void gw_sched_edge_later_add(struct gw_job *of, uint32_t row, uint64_t job, uint32_t index)
{
    struct gw_tasks *tasks = &of->tasks;
    struct gw_later later = {job, index, tasks->succ[row]};
    tasks->succ[row] = LINK_LATER | (uint32_t)tasks->laters.count;
    GW_MUST(gw_array_push(&tasks->laters, later));
}

/* -- Successors ------------------------------------------------------------------------------- */

struct gw_successors gw_sched_edge_successors_of(struct gw_job *job, uint32_t row)
{
    return (struct gw_successors){job, job->compacted ? GW_NO_INDEX : job->tasks.succ[row]};
}

bool gw_sched_edge_successors_next(const struct gw_sched *sched, struct gw_successors *from,
                                   struct gw_row *row)
{
    const struct gw_tasks *tasks = &from->job->tasks;
    uint32_t link = from->link;
    if (link == GW_NO_INDEX)
        return false;
    if (link & LINK_LATER) {
        const struct gw_later *later = &tasks->laters.items[link & ~LINK_LATER];
        *row = (struct gw_row){gw_sched_job_find(sched, later->job), later->index};
        from->link = later->next;
    } else {
        *row = (struct gw_row){from->job, gw_sched_edge_row(tasks, link)};
        from->link = tasks->next[link];
    }
    return true;
}

void gw_sched_edge_successors(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              void (*visit)(struct gw_sched *sched, struct gw_job *job,
                                            uint32_t row))
{
    struct gw_successors from = gw_sched_edge_successors_of(job, row);
    struct gw_row next;
    while (gw_sched_edge_successors_next(sched, &from, &next)) {
        if (!next.job || next.job->compacted)
            continue;
        if (next.index != GW_INDEX_ALL) {
            visit(sched, next.job, next.index);
            continue;
        }
        for (uint32_t i = gw_sched_row_next(next.job, 0); i < next.job->tasks.count;
             i = gw_sched_row_next(next.job, i + 1))
            visit(sched, next.job, i);
    }
}
