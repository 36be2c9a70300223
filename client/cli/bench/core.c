/* The scheduler's core without processes. One session submits a bag of no-op tasks with different
 * arguments, each with a future. The simulated workers have one slot each, and answer each assign
 * message at once or never. Messages are passed by pointer, so the time of encoding and of sockets
 * is not included. */
#include "client/cli/bench/core.h"

#include "graph/base/clock.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "scheduler/core/model/fact.h"
#include "scheduler/core/model/logged.h"
#include "scheduler/core/model/state.h"
#include "scheduler/core/sched.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENT = 1 << 30, ARGS_BYTES = 6, VALUE_BYTES = 2 };

/* Attempts that a worker has received and not answered. */
struct answers {
    GW_ARRAY(uint64_t) attempt;
};

/* Columns of the answers, filled once for the longest answer so far. A real answer is in a buffer
 * that was just read. So the columns are reused, and no answer comes from memory that is cold in
 * the cache. */
struct columns {
    GW_ARRAY(uint32_t) rank, value_size;
    GW_ARRAY(uint64_t) bytes, run_ns;
    GW_ARRAY(uint8_t) values;
};

struct core {
    struct gw_sched *sched;
    struct gw_effects effects;
    struct answers *workers;
    GW_ARRAY(struct answers) spare; /* free arrays for reuse; the last used is at the end */
    struct columns columns;
    uint64_t *sequence; /* sequence number of each worker, then that of the client */
    uint64_t worker_count, now_ns, done, steps;
};

static int step(struct core *core, struct gw_event *event)
{
    event->now_ns = event->wall_ns = ++core->now_ns;
    core->steps++;
    return gw_sched_step(core->sched, event, &core->effects);
}

/* Handles the messages that the core sends: stores the attempts of assigned rows, and counts rows
 * that are done. */
static void take_effects(struct core *core)
{
    struct gw_effect *effect;
    GW_ARRAY_EACH (&core->effects.list, effect) {
        if (effect->type != GW_EFFECT_SEND)
            continue;
        if (effect->message.type == GW_MESSAGE_done)
            core->done += effect->message.done.request.count;
        if (effect->message.type != GW_MESSAGE_assign)
            continue;
        struct answers *answers = &core->workers[effect->peer.id - 1];
        const struct gw_msg_assign *assign = &effect->message.assign;
        if (!answers->attempt.items && core->spare.count > 0)
            *answers = core->spare.items[--core->spare.count];
        for (uint32_t i = 0; i < assign->attempt.count; i++)
            GW_MUST(gw_array_push(&answers->attempt, gw_col64_at(assign->attempt, i)));
    }
}

static void send(struct core *core, uint64_t peer, struct gw_message *message)
{
    message->sequence = ++core->sequence[peer == CLIENT ? core->worker_count : peer - 1];
    struct gw_event event = {.type = GW_EVENT_MESSAGE, .peer = {peer}, .message = message};
    if (step(core, &event) < 0)
        abort();
    take_effects(core);
}

static void open_peers(struct core *core)
{
    struct gw_event start = {.type = GW_EVENT_START, .number = 1};
    (void)step(core, &start);
    for (uint64_t peer = 1; peer <= core->worker_count; peer++) {
        struct gw_event open = {
            .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = "w"};
        (void)step(core, &open);
        struct gw_message message = {
            .type = GW_MESSAGE_registration,
            .registration = {.incarnation = peer, .slots = 1, .host = "h", .address = "a"}};
        send(core, peer, &message);
    }
    struct gw_event open = {
        .type = GW_EVENT_OPEN, .peer = {CLIENT}, .role = GW_ROLE_CLIENT, .text = "bench"};
    (void)step(core, &open);
    struct gw_message spec = {
        .type = GW_MESSAGE_spec,
        .spec = {.key = 1, .kind = GW_SPEC_FUNCTION, .function = "noop", .cwd = ""}};
    send(core, CLIENT, &spec);
}

static int submit(struct core *core, uint32_t tasks, uint32_t chunk)
{
    uint32_t *zeros = calloc(chunk, 4), *sizes = calloc(chunk, 4), *targets = calloc(chunk, 4);
    uint8_t *args = calloc(chunk, ARGS_BYTES);
    int rc = zeros && sizes && targets && args ? 0 : GW_ENOMEM;
    for (uint32_t i = 0; i < chunk && rc == 0; i++)
        sizes[i] = ARGS_BYTES;
    for (uint32_t first = 0; first < tasks && rc == 0; first += chunk) {
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
        send(core, CLIENT, &message);
    }
    free(zeros);
    free(sizes);
    free(targets);
    free(args);
    return rc;
}

/* Extends the columns to at least `rows` rows. */
static void say(struct columns *columns, size_t rows)
{
    static const uint8_t value[VALUE_BYTES] = {0xcc, 0x80};
    while (columns->rank.count < rows) {
        GW_MUST(gw_array_push(&columns->rank, GW_RANK_NONE));
        GW_MUST(gw_array_push(&columns->bytes, VALUE_BYTES));
        GW_MUST(gw_array_push(&columns->value_size, VALUE_BYTES));
        GW_MUST(gw_array_push(&columns->run_ns, 1000));
        for (size_t i = 0; i < VALUE_BYTES; i++)
            GW_MUST(gw_array_push(&columns->values, value[i]));
    }
}

static void answer(struct core *core, uint64_t worker)
{
    struct answers given = core->workers[worker];
    struct columns *columns = &core->columns;
    uint32_t rows = (uint32_t)given.attempt.count;
    memset(&core->workers[worker], 0, sizeof given);
    say(columns, rows);
    struct gw_message message = {.type = GW_MESSAGE_finished,
                                 .finished = {.attempt = {given.attempt.items, rows},
                                              .rank = {columns->rank.items, rows},
                                              .bytes = {columns->bytes.items, rows},
                                              .value_size = {columns->value_size.items, rows},
                                              .values = {columns->values.items, rows * VALUE_BYTES},
                                              .run_ns = {columns->run_ns.items, rows}}};
    send(core, worker + 1, &message);
    gw_array_clear(&given.attempt);
    GW_MUST(gw_array_push(&core->spare, given));
}

static int open_core(struct core *core, uint64_t workers)
{
    *core = (struct core){.sched = gw_sched_new(&(struct gw_sched_options){0}),
                          .workers = calloc(workers, sizeof *core->workers),
                          .sequence = calloc(workers + 1, sizeof *core->sequence),
                          .worker_count = workers};
    if (!core->sched || !core->workers || !core->sequence)
        return GW_ENOMEM;
    open_peers(core);
    return 0;
}

static void close_core(struct core *core)
{
    gw_array_deinit(&core->effects.list);
    gw_arena_deinit(&core->effects.arena);
    if (core->sched)
        gw_sched_free(core->sched);
    for (uint64_t worker = 0; core->workers && worker < core->worker_count; worker++)
        gw_array_deinit(&core->workers[worker].attempt);
    for (size_t i = 0; i < core->spare.count; i++)
        gw_array_deinit(&core->spare.items[i].attempt);
    gw_array_deinit(&core->spare);
    gw_array_deinit(&core->columns.rank);
    gw_array_deinit(&core->columns.bytes);
    gw_array_deinit(&core->columns.value_size);
    gw_array_deinit(&core->columns.values);
    gw_array_deinit(&core->columns.run_ns);
    free(core->workers);
    free(core->sequence);
}

int gw_bench_core_run(uint32_t tasks, uint32_t chunk, uint64_t workers,
                      struct gw_bench_core_run *run)
{
    struct core core;
    int rc = open_core(&core, workers);
    if (rc == 0) {
        uint64_t start_ns = gw_clock_now_ns();
        rc = submit(&core, tasks, chunk);
        uint64_t submitted_ns = gw_clock_now_ns();
        for (uint64_t worker = 0; core.done < tasks && rc == 0; worker = (worker + 1) % workers)
            if (core.workers[worker].attempt.count)
                answer(&core, worker);
        uint64_t end_ns = gw_clock_now_ns();
        *run = (struct gw_bench_core_run){.submit_ns = submitted_ns - start_ns,
                                          .finish_ns = end_ns - submitted_ns,
                                          .steps = core.steps};
    }
    close_core(&core);
    return rc;
}

int gw_bench_core_span(uint32_t tasks, uint32_t chunk, uint64_t workers,
                       const struct gw_bench_core_span *span)
{
    struct core core;
    bool begun = false;
    int rc = open_core(&core, workers);
    if (rc == 0)
        rc = submit(&core, tasks, chunk);
    for (uint64_t worker = 0; core.done < span->upto && rc == 0; worker = (worker + 1) % workers) {
        if (core.done >= span->from && !begun) {
            begun = true;
            span->on_reached(core.done, span->arg);
        }
        if (core.workers[worker].attempt.count)
            answer(&core, worker);
    }
    if (rc == 0)
        span->on_reached(core.done, span->arg);
    close_core(&core);
    return rc;
}

static int64_t resident_bytes(void)
{
    long long size, pages = -1;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%lld %lld", &size, &pages) != 2)
        pages = -1;
    if (file)
        (void)fclose(file);
    return pages < 0 ? -1 : (int64_t)pages * sysconf(_SC_PAGESIZE);
}

int gw_bench_core_live(uint32_t tasks, uint32_t chunk, double *bytes)
{
    struct core core;
    (void)malloc_trim(0); /* return free memory to the kernel, so that later allocations increase
                             the resident size */
    int64_t before = resident_bytes();
    int rc = open_core(&core, 2);
    if (rc == 0)
        rc = submit(&core, tasks, chunk);
    int64_t after = resident_bytes();
    if (rc == 0 && (before < 0 || after < 0))
        rc = GW_EIO;
    if (rc == 0)
        *bytes = (double)(after - before) / tasks;
    close_core(&core);
    return rc;
}
