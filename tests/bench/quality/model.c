/* The loop of the model: rows end and copies arrive, in the order of their times and then of their
 * numbers. So every run gives the same result. */
#include "tests/bench/quality/model.h"

#include "graph/base/must.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_ENDS = 1, COPY_ARRIVES };

static void *zeroed(size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    GW_MUST_PTR(memory);
    return memory;
}

static void find_users(struct model *model)
{
    const struct graph_file *graph = model->graph;
    model->users_at = zeroed((size_t)graph->count + 1, sizeof *model->users_at);
    model->users = zeroed(graph->edges, sizeof *model->users);
    for (uint32_t k = 0; k < graph->edges; k++)
        model->users_at[graph->deps[k] + 1]++;
    for (uint32_t i = 0; i < graph->count; i++)
        model->users_at[i + 1] += model->users_at[i];
    uint32_t *filled = zeroed(graph->count, sizeof *filled);
    for (uint32_t i = 0; i < graph->count; i++)
        for (uint32_t k = graph->deps_at[i]; k < graph->deps_at[i + 1]; k++) {
            uint32_t dep = graph->deps[k];
            model->users[model->users_at[dep] + filled[dep]++] = i;
        }
    free(filled);
}

void model_init(struct model *model, const struct graph_file *graph, uint32_t workers)
{
    *model = (struct model){.graph = graph,
                            .worker_count = workers,
                            .latency_ns = 100000,
                            .bytes_per_ns = 1.0,
                            .left = graph->count};
    find_users(model);
    model->unmade = zeroed(graph->count, sizeof *model->unmade);
    model->made_at = zeroed(graph->count, sizeof *model->made_at);
    model->pending = zeroed(graph->count, sizeof *model->pending);
    model->workers = zeroed(workers, sizeof *model->workers);
    for (uint32_t i = 0; i < graph->count; i++) {
        model->unmade[i] = graph->deps_at[i + 1] - graph->deps_at[i];
        model->made_at[i] = MODEL_NONE;
        model->pending[i].worker = MODEL_NONE;
    }
}

void model_deinit(struct model *model)
{
    for (uint32_t i = 0; i < model->worker_count; i++)
        gw_array_deinit(&model->workers[i].startable);
    free(model->users_at);
    free(model->users);
    free(model->unmade);
    free(model->made_at);
    free(model->pending);
    free(model->workers);
    gw_map_deinit(&model->copies);
    gw_array_deinit(&model->events);
}

uint64_t model_transfer_ns(const struct model *model, uint32_t bytes)
{
    return model->latency_ns + (uint64_t)(bytes / model->bytes_per_ns);
}

/* -- Events --------------------------------------------------------------------------------------
 */

static bool before(const struct model_event *a, const struct model_event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

static void push_event(struct model *model, struct model_event event)
{
    event.number = ++model->numbers;
    GW_MUST(gw_array_push(&model->events, event));
    struct model_event *heap = model->events.items;
    size_t at = model->events.count - 1;
    for (; at > 0 && before(&event, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = event;
}

static bool pop_event(struct model *model, struct model_event *event)
{
    struct model_event *heap = model->events.items;
    if (model->events.count == 0)
        return false;
    *event = heap[0];
    struct model_event last = heap[--model->events.count];
    size_t at = 0, count = model->events.count;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(&heap[child + 1], &heap[child]))
            child++;
        if (before(&last, &heap[child]))
            break;
        heap[at] = heap[child];
    }
    if (count)
        heap[at] = last;
    return true;
}

/* -- A worker's heap of rows that could start ----------------------------------------------------
 */

static void push_startable(struct model *model, uint32_t row)
{
    struct model_worker *worker = &model->workers[model->pending[row].worker];
    struct model_startable made = {model->pending[row].order, row};
    GW_MUST(gw_array_push(&worker->startable, made));
    struct model_startable *heap = worker->startable.items;
    size_t at = worker->startable.count - 1;
    for (; at > 0 && made.order < heap[(at - 1) / 2].order; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = made;
}

static struct model_startable pop_startable(struct model_worker *worker)
{
    struct model_startable *heap = worker->startable.items;
    struct model_startable first = heap[0], last = heap[--worker->startable.count];
    size_t at = 0, count = worker->startable.count;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1].order < heap[child].order)
            child++;
        if (last.order < heap[child].order)
            break;
        heap[at] = heap[child];
    }
    if (count)
        heap[at] = last;
    return first;
}

static void start_next(struct model *model, uint32_t number)
{
    struct model_worker *worker = &model->workers[number];
    while (!worker->busy && worker->startable.count) {
        struct model_startable next = pop_startable(worker);
        struct model_pending *pending = &model->pending[next.row];
        if (pending->order != next.order || pending->worker != number)
            continue;
        worker->busy = true;
        pending->started = true;
        push_event(model, (struct model_event){.time_ns = model->now_ns +
                                                          model->graph->duration_ns[next.row],
                                               .kind = ROW_ENDS,
                                               .worker = number,
                                               .row = next.row});
    }
}

/* -- Copies --------------------------------------------------------------------------------------
 */

static uint64_t copy_key(uint32_t row, uint32_t worker)
{
    return (uint64_t)row * MODEL_WORKERS_MAX + worker;
}

/* Returns true if the value of a row is at a worker. If it exists only at another worker, starts a
 * copy. */
static bool have(struct model *model, uint32_t row, uint32_t worker)
{
    uint64_t state = 0;
    if (model->made_at[row] == worker)
        return true;
    if (gw_map_get(&model->copies, copy_key(row, worker), &state))
        return state == 2;
    if (model->made_at[row] == MODEL_NONE)
        return false;
    uint64_t *link = &model->workers[worker].link_free_ns;
    uint64_t begin_ns = *link > model->now_ns ? *link : model->now_ns;
    uint64_t end_ns = begin_ns + model_transfer_ns(model, model->graph->size[row]);
    *link = end_ns - model->latency_ns;
    GW_MUST(gw_map_put(&model->copies, copy_key(row, worker), 1));
    push_event(model, (struct model_event){
                          .time_ns = end_ns, .kind = COPY_ARRIVES, .worker = worker, .row = row});
    return false;
}

/* A value has arrived at a worker. Rows there that waited for it may start. */
static void arrived(struct model *model, uint32_t row, uint32_t worker)
{
    for (uint32_t k = model->users_at[row]; k < model->users_at[row + 1]; k++) {
        uint32_t user = model->users[k];
        struct model_pending *pending = &model->pending[user];
        if (pending->worker == worker && pending->missing > 0 && --pending->missing == 0)
            push_startable(model, user);
    }
    start_next(model, worker);
}

void model_assign(struct model *model, uint32_t row, uint32_t worker)
{
    const struct graph_file *graph = model->graph;
    struct model_pending *pending = &model->pending[row];
    assert(pending->worker == MODEL_NONE && worker < model->worker_count);
    *pending = (struct model_pending){.order = ++model->numbers, .worker = worker};
    for (uint32_t k = graph->deps_at[row]; k < graph->deps_at[row + 1]; k++)
        pending->missing += !have(model, graph->deps[k], worker);
    if (pending->missing == 0) {
        push_startable(model, row);
        start_next(model, worker);
    }
}

bool model_take_back(struct model *model, uint32_t row)
{
    if (model->pending[row].worker == MODEL_NONE || model->pending[row].started)
        return false;
    model->pending[row].worker = MODEL_NONE;
    return true;
}

/* -- The loop ------------------------------------------------------------------------------------
 */

static void row_ended(struct model *model, uint32_t row, uint32_t worker)
{
    model->left--;
    model->made_at[row] = worker;
    model->workers[worker].busy = false;
    for (uint32_t k = model->users_at[row]; k < model->users_at[row + 1]; k++) {
        const struct model_pending *user = &model->pending[model->users[k]];
        if (user->worker != MODEL_NONE && user->worker != worker)
            (void)have(model, row,
                       user->worker); /* the user is already assigned: start the copy now */
    }
    arrived(model, row, worker);
    if (model->policy->finished)
        model->policy->finished(model, model->arg, row, worker);
    for (uint32_t k = model->users_at[row]; k < model->users_at[row + 1]; k++) {
        uint32_t user = model->users[k];
        if (--model->unmade[user] == 0 && model->policy->ready)
            model->policy->ready(model, model->arg, user);
    }
    start_next(model, worker);
}

uint64_t model_run(struct model *model, const struct model_policy *policy, void *arg)
{
    struct model_event event;
    model->policy = policy;
    model->arg = arg;
    if (policy->start)
        policy->start(model, arg);
    for (uint32_t row = 0; row < model->graph->count && policy->ready; row++)
        if (model->unmade[row] == 0 && model->made_at[row] == MODEL_NONE)
            policy->ready(model, arg, row);
    uint64_t end_ns = 0;
    while (pop_event(model, &event)) {
        model->now_ns = event.time_ns;
        if (event.kind == ROW_ENDS) {
            end_ns = event.time_ns;
            row_ended(model, event.row, event.worker);
        } else {
            GW_MUST(gw_map_put(&model->copies, copy_key(event.row, event.worker), 2));
            arrived(model, event.row, event.worker);
        }
    }
    assert(model->left == 0); /* otherwise the policy left rows unassigned */
    return end_ns;
}
