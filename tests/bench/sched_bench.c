/* sched_bench: how long the scheduler's core takes for a task. One session submits a bag of no-op
 * tasks with distinct arguments, every result a target; workers of one slot each (two, if nothing
 * is said), simulated here, answer each assign at once. Messages pass by pointer: wire and sockets
 * cost nothing.
 *
 *     sched_bench [tasks] [chunk] [workers]
 */
#include "graph/base/clock.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "scheduler/core/sched.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENT = 1 << 30, ARGS_BYTES = 6 };

struct answers {
    GW_ARRAY(uint64_t) attempt, bytes, run_ns;
    GW_ARRAY(uint32_t) rank, value_size;
    GW_ARRAY(uint8_t) values;
};

struct bench {
    struct gw_sched *sched;
    struct gw_effects effects;
    struct answers *workers;
    uint64_t *sequence; /* of each worker, and of the client */
    uint64_t worker_count, now_ns, done, steps;
};

static int step(struct bench *bench, struct gw_event *event)
{
    event->now_ns = event->wall_ns = ++bench->now_ns;
    bench->steps++;
    return gw_sched_step(bench->sched, event, &bench->effects);
}

/* Takes what the core sent: assigned rows are answered with a small value, done rows counted. */
static void take_effects(struct bench *bench)
{
    struct gw_effect *effect;
    static const uint8_t value[2] = {0xcc, 0x80};
    GW_ARRAY_EACH (&bench->effects.list, effect) {
        if (effect->type != GW_EFFECT_SEND)
            continue;
        if (effect->message.type == GW_MESSAGE_done)
            bench->done += effect->message.done.request.count;
        if (effect->message.type != GW_MESSAGE_assign)
            continue;
        struct answers *answers = &bench->workers[effect->peer.id - 1];
        const struct gw_msg_assign *assign = &effect->message.assign;
        for (uint32_t i = 0; i < assign->attempt.count; i++) {
            GW_MUST(gw_array_push(&answers->attempt, gw_col64_at(assign->attempt, i)));
            GW_MUST(gw_array_push(&answers->rank, GW_RANK_NONE));
            GW_MUST(gw_array_push(&answers->bytes, sizeof value));
            GW_MUST(gw_array_push(&answers->value_size, sizeof value));
            GW_MUST(gw_array_push(&answers->run_ns, 1000));
            GW_MUST(gw_array_reserve(&answers->values, sizeof value));
            memcpy(answers->values.items + answers->values.count, value, sizeof value);
            answers->values.count += sizeof value;
        }
    }
}

static void send(struct bench *bench, uint64_t peer, struct gw_message *message)
{
    message->sequence = ++bench->sequence[peer == CLIENT ? bench->worker_count : peer - 1];
    struct gw_event event = {.type = GW_EVENT_MESSAGE, .peer = {peer}, .message = message};
    if (step(bench, &event) < 0)
        abort();
    take_effects(bench);
}

static void open_peers(struct bench *bench)
{
    struct gw_event start = {.type = GW_EVENT_START, .number = 1};
    (void)step(bench, &start);
    for (uint64_t peer = 1; peer <= bench->worker_count; peer++) {
        struct gw_event open = {
            .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = "w"};
        (void)step(bench, &open);
        struct gw_message message = {
            .type = GW_MESSAGE_registration,
            .registration = {.incarnation = peer, .slots = 1, .host = "h", .address = "a"}};
        send(bench, peer, &message);
    }
    struct gw_event open = {
        .type = GW_EVENT_OPEN, .peer = {CLIENT}, .role = GW_ROLE_CLIENT, .text = "bench"};
    (void)step(bench, &open);
    struct gw_message spec = {
        .type = GW_MESSAGE_spec,
        .spec = {.key = 1, .kind = GW_SPEC_FUNCTION, .function = "noop", .cwd = ""}};
    send(bench, CLIENT, &spec);
}

static void submit(struct bench *bench, uint32_t tasks, uint32_t chunk)
{
    uint32_t *zeros = calloc(chunk, 4), *sizes = calloc(chunk, 4), *targets = calloc(chunk, 4);
    uint8_t *args = calloc(chunk, ARGS_BYTES);
    if (!zeros || !sizes || !targets || !args)
        abort();
    for (uint32_t i = 0; i < chunk; i++)
        sizes[i] = ARGS_BYTES;
    for (uint32_t first = 0; first < tasks; first += chunk) {
        uint32_t rows = tasks - first < chunk ? tasks - first : chunk;
        for (uint32_t i = 0; i < rows; i++) {
            uint32_t number = first + i;
            targets[i] = number;
            args[i * ARGS_BYTES] = 0x91; /* a list of one uint32 */
            args[i * ARGS_BYTES + 1] = 0xce;
            memcpy(args + i * ARGS_BYTES + 2, &number, 4);
        }
        struct gw_message message = {.type = GW_MESSAGE_submit,
                                     .submit = {.request = 1,
                                                .flags = first + rows == tasks ? GW_SUBMIT_LAST : 0,
                                                .name = "bag",
                                                .spec = {zeros, rows},
                                                .args_size = {sizes, rows},
                                                .args = {args, rows * ARGS_BYTES},
                                                .dep_count = {zeros, rows},
                                                .targets = {targets, rows}}};
        send(bench, CLIENT, &message);
    }
    free(zeros);
    free(sizes);
    free(targets);
    free(args);
}

static void answer(struct bench *bench, uint64_t worker)
{
    struct answers rows = bench->workers[worker];
    memset(&bench->workers[worker], 0, sizeof rows);
    struct gw_message message = {
        .type = GW_MESSAGE_finished,
        .finished = {.attempt = {rows.attempt.items, (uint32_t)rows.attempt.count},
                     .rank = {rows.rank.items, (uint32_t)rows.rank.count},
                     .bytes = {rows.bytes.items, (uint32_t)rows.bytes.count},
                     .value_size = {rows.value_size.items, (uint32_t)rows.value_size.count},
                     .values = {rows.values.items, (uint32_t)rows.values.count},
                     .run_ns = {rows.run_ns.items, (uint32_t)rows.run_ns.count}}};
    send(bench, worker + 1, &message);
    gw_array_deinit(&rows.attempt);
    gw_array_deinit(&rows.rank);
    gw_array_deinit(&rows.bytes);
    gw_array_deinit(&rows.value_size);
    gw_array_deinit(&rows.values);
    gw_array_deinit(&rows.run_ns);
}

int main(int argc, char **argv)
{
    uint32_t tasks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    uint32_t chunk = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 20000;
    uint64_t workers = argc > 3 ? strtoul(argv[3], NULL, 10) : 2;
    struct bench bench = {.sched = gw_sched_new(&(struct gw_sched_options){0}),
                          .workers = calloc(workers, sizeof *bench.workers),
                          .sequence = calloc(workers + 1, sizeof *bench.sequence),
                          .worker_count = workers};
    if (!bench.workers || !bench.sequence || workers == 0)
        abort();
    open_peers(&bench);
    uint64_t start_ns = gw_clock_now_ns();
    submit(&bench, tasks, chunk);
    uint64_t submitted_ns = gw_clock_now_ns();
    for (uint64_t worker = 0; bench.done < tasks; worker = (worker + 1) % workers)
        if (bench.workers[worker].attempt.count)
            answer(&bench, worker);
    uint64_t end_ns = gw_clock_now_ns();
    printf("%u tasks, %" PRIu64 " steps: submit %" PRIu64 " ns, place and finish %" PRIu64
           " ns a task, %.0f tasks/s in all\n",
           tasks, bench.steps, (submitted_ns - start_ns) / tasks, (end_ns - submitted_ns) / tasks,
           (double)tasks * 1e9 / (double)(end_ns - start_ns));
    gw_array_deinit(&bench.effects.list);
    gw_arena_deinit(&bench.effects.arena);
    gw_sched_free(bench.sched);
    for (uint64_t worker = 0; worker < workers; worker++)
        if (bench.workers[worker].attempt.count)
            abort(); /* all were answered */
    free(bench.workers);
    free(bench.sequence);
    return 0;
}
