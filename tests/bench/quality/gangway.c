/* The scheduler core as a policy. The graph is submitted as the client library does it, in the
 * order of gw_order_sort. The workers of the model answer the core's messages. The core learns
 * durations and sizes from tasks that have run, as in a real cluster. */
#include "graph/base/must.h"
#include "graph/model/order.h"
#include "graph/wire/enums.h"
#include "scheduler/core/sched.h"
#include "tests/bench/quality/policies.h"

#include <stdlib.h>
#include <string.h>

enum { CLIENT = MODEL_WORKERS_MAX + 1, INLINE_BYTES = 4096 };

struct state {
    struct gw_sched *sched;
    struct gw_effects effects;
    uint64_t *sequence; /* indexed by peer */
    struct gw_map rows; /* attempt -> row of the graph, until the attempt has ended */
    uint64_t *attempt;  /* the attempt of each row */
    uint32_t *row_of_index, *index_of_row;
    GW_ARRAY(uint64_t) taken_back; /* attempts that must be returned, with their workers */
    GW_ARRAY(uint32_t) taken_back_worker;
};

static void *zeroed(size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    GW_MUST_PTR(memory);
    return memory;
}

/* -- What the core says --------------------------------------------------------------------------
 */

static void on_assign(struct model *model, struct state *state, uint32_t worker,
                      const struct gw_msg_assign *assign)
{
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        uint32_t row = state->row_of_index[gw_col32_at(assign->index, i)];
        uint64_t attempt = gw_col64_at(assign->attempt, i);
        GW_MUST(gw_map_put(&state->rows, attempt, row));
        state->attempt[row] = attempt;
        model_assign(model, row, worker);
    }
}

static void on_kill(struct model *model, struct state *state, uint32_t worker,
                    const struct gw_msg_kill *kill)
{
    for (uint32_t i = 0; i < kill->attempt.count; i++) {
        uint64_t row, attempt = gw_col64_at(kill->attempt, i);
        if (!gw_map_get(&state->rows, attempt, &row) || !model_take_back(model, (uint32_t)row))
            continue;
        GW_MUST(gw_array_push(&state->taken_back, attempt));
        GW_MUST(gw_array_push(&state->taken_back_worker, worker));
    }
}

static void step(struct model *model, struct state *state, struct gw_event *event)
{
    event->now_ns = event->wall_ns = model->now_ns + 1;
    GW_MUST(gw_sched_step(state->sched, event, &state->effects));
    struct gw_effect *effect;
    GW_ARRAY_EACH (&state->effects.list, effect) {
        if (effect->type != GW_EFFECT_SEND)
            continue;
        uint32_t worker = (uint32_t)effect->peer.id - 1;
        if (effect->message.type == GW_MESSAGE_assign)
            on_assign(model, state, worker, &effect->message.assign);
        else if (effect->message.type == GW_MESSAGE_kill)
            on_kill(model, state, worker, &effect->message.kill);
    }
}

/* -- What it is told -----------------------------------------------------------------------------
 */

static void send_one(struct model *model, struct state *state, uint64_t peer,
                     struct gw_message *message)
{
    message->sequence = ++state->sequence[peer];
    struct gw_event event = {.type = GW_EVENT_MESSAGE, .peer = {peer}, .message = message};
    step(model, state, &event);
}

static void send(struct model *model, struct state *state, uint64_t peer,
                 struct gw_message *message)
{
    send_one(model, state, peer, message);
    for (size_t i = 0; i < state->taken_back.count; i++) { /* the list may grow during the loop */
        struct gw_message ended = {.type = GW_MESSAGE_ended,
                                   .ended = {.attempt = state->taken_back.items[i],
                                             .rank = GW_RANK_NONE,
                                             .outcome = GW_OUTCOME_KILLED,
                                             .code = GW_ECANCELLED,
                                             .text = "taken back",
                                             .stderr_tail = ""}};
        (void)gw_map_remove(&state->rows, state->taken_back.items[i]);
        send_one(model, state, state->taken_back_worker.items[i] + 1, &ended);
    }
    gw_array_clear(&state->taken_back);
    gw_array_clear(&state->taken_back_worker);
}

static void open_peers(struct model *model, struct state *state)
{
    struct gw_event start = {.type = GW_EVENT_START, .number = 1};
    step(model, state, &start);
    for (uint64_t peer = 1; peer <= model->worker_count; peer++) {
        struct gw_event open = {
            .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = "w"};
        step(model, state, &open);
        struct gw_message message = {.type = GW_MESSAGE_registration,
                                     .registration = {.incarnation = peer,
                                                      .slots = 1,
                                                      .memory_bytes = UINT64_C(1) << 40,
                                                      .host = "h",
                                                      .address = "a"}};
        send(model, state, peer, &message);
    }
    struct gw_event open = {
        .type = GW_EVENT_OPEN, .peer = {CLIENT}, .role = GW_ROLE_CLIENT, .text = "quality"};
    step(model, state, &open);
    struct gw_message spec = {
        .type = GW_MESSAGE_spec,
        .spec = {.key = 1, .kind = GW_SPEC_FUNCTION, .function = "row", .slots = 1, .cwd = ""}};
    send(model, state, CLIENT, &spec);
}

/* Submits the rows in the order and in the chunks of the client library. */
static void submit(struct model *model, struct state *state)
{
    enum { CHUNK = 16384 };
    const struct graph_file *graph = model->graph;
    uint32_t *zeros = zeroed(graph->edges + (size_t)CHUNK, 4), *ones = zeroed(CHUNK, 4);
    uint32_t *dep_count = zeroed(CHUNK, 4), *deps = zeroed(graph->edges, 4);
    uint64_t *dep_job = zeroed(graph->edges, 8);
    uint8_t *args = zeroed(CHUNK, 1);
    uint32_t cycle, *targets = zeroed(CHUNK, 4);
    GW_MUST(gw_order_sort(
        &(struct gw_order_graph){.count = graph->count, .at = graph->deps_at, .needs = graph->deps},
        state->row_of_index, &cycle));
    for (uint32_t i = 0; i < graph->count; i++)
        state->index_of_row[state->row_of_index[i]] = i;
    for (uint32_t i = 0; i < CHUNK; i++) {
        ones[i] = 1;
        args[i] = 0x90; /* an empty list */
    }
    for (uint32_t first = 0; first < graph->count; first += CHUNK) {
        uint32_t left = graph->count - first, rows = left < CHUNK ? left : CHUNK;
        uint32_t edges = 0, target_count = 0;
        for (uint32_t i = 0; i < rows; i++) {
            uint32_t row = state->row_of_index[first + i];
            dep_count[i] = graph->deps_at[row + 1] - graph->deps_at[row];
            for (uint32_t k = graph->deps_at[row]; k < graph->deps_at[row + 1]; k++)
                deps[edges++] = state->index_of_row[graph->deps[k]];
            if (graph->sink[row])
                targets[target_count++] = first + i;
        }
        struct gw_message message = {.type = GW_MESSAGE_submit,
                                     .submit = {.request = 1,
                                                .flags = rows == left ? GW_SUBMIT_LAST : 0,
                                                .name = "quality",
                                                .spec = {zeros, rows},
                                                .args_size = {ones, rows},
                                                .args = {args, rows},
                                                .dep_count = {dep_count, rows},
                                                .dep_job = {dep_job, edges},
                                                .dep_index = {deps, edges},
                                                .dep_rank = {zeros, edges},
                                                .targets = {targets, target_count}}};
        send(model, state, CLIENT, &message);
    }
    free(zeros);
    free(ones);
    free(dep_count);
    free(deps);
    free(dep_job);
    free(args);
    free(targets);
}

static void gangway_start(struct model *model, void *arg)
{
    open_peers(model, arg);
    submit(model, arg);
}

static void gangway_finished(struct model *model, void *arg, uint32_t row, uint32_t worker)
{
    static const uint8_t zeros[INLINE_BYTES];
    struct state *state = arg;
    uint64_t attempt = state->attempt[row], bytes = model->graph->size[row];
    uint64_t run_ns = model->graph->duration_ns[row];
    uint32_t rank = GW_RANK_NONE, size = bytes <= INLINE_BYTES ? (uint32_t)bytes : 0;
    struct gw_message message = {.type = GW_MESSAGE_finished,
                                 .finished = {.attempt = {&attempt, 1},
                                              .rank = {&rank, 1},
                                              .bytes = {&bytes, 1},
                                              .value_size = {&size, 1},
                                              .values = {zeros, size},
                                              .run_ns = {&run_ns, 1}}};
    (void)gw_map_remove(&state->rows, attempt);
    send(model, state, worker + 1, &message);
}

uint64_t policies_gangway(struct model *model)
{
    static const struct model_policy policy = {
        .name = "gangway", .start = gangway_start, .finished = gangway_finished};
    const struct gw_sched_options options = {.heartbeat_ns = UINT64_MAX / 4,
                                             .worker_lost_ns = UINT64_MAX / 4};
    struct state state = {.sched = gw_sched_new(&options)};
    uint32_t count = model->graph->count;
    state.sequence = zeroed(CLIENT + 1, sizeof *state.sequence);
    state.attempt = zeroed(count, sizeof *state.attempt);
    state.row_of_index = zeroed(count, sizeof *state.row_of_index);
    state.index_of_row = zeroed(count, sizeof *state.index_of_row);
    uint64_t end_ns = model_run(model, &policy, &state);
    gw_sched_free(state.sched);
    gw_array_deinit(&state.effects.list);
    gw_arena_deinit(&state.effects.arena);
    gw_map_deinit(&state.rows);
    gw_array_deinit(&state.taken_back);
    gw_array_deinit(&state.taken_back_worker);
    free(state.sequence);
    free(state.attempt);
    free(state.row_of_index);
    free(state.index_of_row);
    return end_ns;
}
