/* HEFT and b-level: policies that know every duration, size and edge in advance. They show what is
 * possible. */
#include "graph/base/must.h"
#include "tests/bench/quality/policies.h"

#include <stdlib.h>

static void *zeroed(size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    GW_MUST_PTR(memory);
    return memory;
}

/* Computes for each row the longest path from its start to the end of the graph, with copies at
 * their mean cost. */
static double *upward_ranks(const struct model *model)
{
    const struct graph_file *graph = model->graph;
    double *ranks = zeroed(graph->count, sizeof *ranks);
    double elsewhere = (double)(model->worker_count - 1) / model->worker_count;
    for (uint32_t row = graph->count; row-- > 0;) {
        double longest = 0, copy = elsewhere * (double)model_transfer_ns(model, graph->size[row]);
        for (uint32_t k = model->users_at[row]; k < model->users_at[row + 1]; k++)
            if (ranks[model->users[k]] + copy > longest)
                longest = ranks[model->users[k]] + copy;
        ranks[row] = graph->duration_ns[row] + longest;
    }
    return ranks;
}

/* -- HEFT ----------------------------------------------------------------------------------------
 */

struct busy {
    uint64_t begin_ns, end_ns;
};

struct timeline {
    GW_ARRAY(struct busy) busy; /* sorted by begin */
};

struct planned {
    double rank;
    uint64_t begin_ns;
    uint32_t row, worker;
};

static int by_rank(const void *a, const void *b)
{
    const struct planned *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int by_begin(const void *a, const void *b)
{
    const struct planned *x = a, *y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Finds the earliest gap of length_ns at or after from_ns. Writes its index to *at. Only the last
 * gaps are searched, because rows that are planned late also run late. */
static uint64_t find_gap(const struct timeline *line, uint64_t from_ns, uint64_t length_ns,
                         size_t *at)
{
    enum { LOOK_BACK = 64 };
    size_t count = line->busy.count, first = count > LOOK_BACK ? count - LOOK_BACK : 0;
    uint64_t begin_ns = first ? line->busy.items[first - 1].end_ns : 0;
    begin_ns = begin_ns > from_ns ? begin_ns : from_ns;
    for (size_t i = first; i < count; i++) {
        if (begin_ns + length_ns <= line->busy.items[i].begin_ns) {
            *at = i;
            return begin_ns;
        }
        if (line->busy.items[i].end_ns > begin_ns)
            begin_ns = line->busy.items[i].end_ns;
    }
    *at = count;
    return begin_ns;
}

static void fill_gap(struct timeline *line, size_t at, struct busy busy)
{
    GW_MUST(gw_array_push(&line->busy, busy));
    for (size_t i = line->busy.count - 1; i > at; i--)
        line->busy.items[i] = line->busy.items[i - 1];
    line->busy.items[at] = busy;
}

/* Returns when all inputs of a row would be at a worker if the row had been assigned immediately.
 */
static uint64_t inputs_ns(const struct model *model, const uint64_t *end_ns, const uint32_t *placed,
                          uint32_t row, uint32_t worker)
{
    const struct graph_file *graph = model->graph;
    uint64_t latest_ns = 0;
    for (uint32_t k = graph->deps_at[row]; k < graph->deps_at[row + 1]; k++) {
        uint32_t dep = graph->deps[k];
        uint64_t there_ns = end_ns[dep];
        if (placed[dep] != worker)
            there_ns += model_transfer_ns(model, graph->size[dep]);
        latest_ns = there_ns > latest_ns ? there_ns : latest_ns;
    }
    return latest_ns;
}

static void heft_plan(struct model *model, struct planned *plan)
{
    const struct graph_file *graph = model->graph;
    struct timeline *lines = zeroed(model->worker_count, sizeof *lines);
    uint64_t *end_ns = zeroed(graph->count, sizeof *end_ns);
    uint32_t *placed = zeroed(graph->count, sizeof *placed);
    double *ranks = upward_ranks(model);
    for (uint32_t row = 0; row < graph->count; row++)
        plan[row] = (struct planned){.rank = ranks[row], .row = row};
    qsort(plan, graph->count, sizeof *plan, by_rank);
    for (uint32_t i = 0; i < graph->count; i++) {
        uint32_t row = plan[i].row, best = 0;
        uint64_t best_ns = UINT64_MAX, length_ns = graph->duration_ns[row];
        size_t best_at = 0;
        for (uint32_t worker = 0; worker < model->worker_count; worker++) {
            size_t at;
            uint64_t from_ns = inputs_ns(model, end_ns, placed, row, worker);
            uint64_t begin_ns = find_gap(&lines[worker], from_ns, length_ns, &at);
            if (begin_ns < best_ns) {
                best_ns = begin_ns;
                best = worker;
                best_at = at;
            }
        }
        fill_gap(&lines[best], best_at, (struct busy){best_ns, best_ns + length_ns});
        plan[i].worker = placed[row] = best;
        plan[i].begin_ns = best_ns;
        end_ns[row] = best_ns + length_ns;
    }
    for (uint32_t worker = 0; worker < model->worker_count; worker++)
        gw_array_deinit(&lines[worker].busy);
    free(lines);
    free(end_ns);
    free(placed);
    free(ranks);
}

static void heft_start(struct model *model, void *arg)
{
    const struct planned *plan = arg;
    for (uint32_t i = 0; i < model->graph->count; i++)
        model_assign(model, plan[i].row, plan[i].worker);
}

uint64_t policies_heft(struct model *model)
{
    static const struct model_policy policy = {.name = "heft", .start = heft_start};
    struct planned *plan = zeroed(model->graph->count, sizeof *plan);
    heft_plan(model, plan);
    qsort(plan, model->graph->count, sizeof *plan, by_begin);
    uint64_t end_ns = model_run(model, &policy, plan);
    free(plan);
    return end_ns;
}

/* -- b-level -------------------------------------------------------------------------------------
 */

struct b_level {
    double *ranks;
    GW_ARRAY(uint32_t) ready; /* heap, longest path first */
    GW_ARRAY(uint32_t) idle;
};

static void b_level_push(struct b_level *state, uint32_t row)
{
    GW_MUST(gw_array_push(&state->ready, row));
    uint32_t *heap = state->ready.items;
    size_t at = state->ready.count - 1;
    for (; at > 0 && state->ranks[row] > state->ranks[heap[(at - 1) / 2]]; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = row;
}

static uint32_t b_level_pop(struct b_level *state)
{
    uint32_t *heap = state->ready.items, first = heap[0], last = heap[--state->ready.count];
    size_t at = 0, count = state->ready.count;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && state->ranks[heap[child + 1]] > state->ranks[heap[child]])
            child++;
        if (state->ranks[last] > state->ranks[heap[child]])
            break;
        heap[at] = heap[child];
    }
    if (count)
        heap[at] = last;
    return first;
}

static uint64_t bytes_elsewhere(const struct model *model, uint32_t row, uint32_t worker)
{
    const struct graph_file *graph = model->graph;
    uint64_t bytes = 0;
    for (uint32_t k = graph->deps_at[row]; k < graph->deps_at[row + 1]; k++)
        if (model->made_at[graph->deps[k]] != worker)
            bytes += graph->size[graph->deps[k]];
    return bytes;
}

static void b_level_place(struct model *model, struct b_level *state)
{
    while (state->idle.count && state->ready.count) {
        uint32_t row = b_level_pop(state);
        size_t best = 0;
        uint64_t best_bytes = UINT64_MAX;
        for (size_t i = 0; i < state->idle.count && best_bytes > 0; i++) {
            uint64_t bytes = bytes_elsewhere(model, row, state->idle.items[i]);
            if (bytes < best_bytes) {
                best_bytes = bytes;
                best = i;
            }
        }
        uint32_t worker = state->idle.items[best];
        gw_array_remove_swap(&state->idle, best);
        model_assign(model, row, worker);
    }
}

static void b_level_start(struct model *model, void *arg)
{
    struct b_level *state = arg;
    for (uint32_t worker = 0; worker < model->worker_count; worker++)
        GW_MUST(gw_array_push(&state->idle, worker));
    for (uint32_t row = 0; row < model->graph->count; row++)
        if (model->unmade[row] == 0)
            b_level_push(state, row);
    b_level_place(model, state);
}

static void b_level_finished(struct model *model, void *arg, uint32_t row, uint32_t worker)
{
    struct b_level *state = arg;
    GW_MUST(gw_array_push(&state->idle, worker));
    for (uint32_t k = model->users_at[row]; k < model->users_at[row + 1]; k++)
        if (model->unmade[model->users[k]] == 1) /* this was its last missing input */
            b_level_push(state, model->users[k]);
    b_level_place(model, state);
}

uint64_t policies_b_level(struct model *model)
{
    static const struct model_policy policy = {
        .name = "b_level", .start = b_level_start, .finished = b_level_finished};
    struct b_level state = {.ranks = upward_ranks(model)};
    uint64_t end_ns = model_run(model, &policy, &state);
    free(state.ranks);
    gw_array_deinit(&state.ready);
    gw_array_deinit(&state.idle);
    return end_ns;
}
