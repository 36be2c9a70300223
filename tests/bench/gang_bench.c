/* gang_bench: how many gangs the scheduler core places per second. One session has queued gangs of
 * all sizes on workers with 8 slots and 8 GPUs each. The simulated workers make the oldest gang
 * ready, start it and end it immediately, and its resources go to the next gangs. Messages are
 * passed by pointer.
 *
 *     gang_bench [workers] [gangs] [decisions]
 */
#include "graph/base/clock.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "scheduler/core/sched.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENT = 1 << 30, GPUS = 8, SIZES = 8 };

struct placed {
    uint64_t attempt, worker;
    uint32_t rank;
};

struct bench {
    struct gw_sched *sched;
    struct gw_effects effects;
    uint64_t *sequence; /* sequence number of each worker, and of the client */
    uint64_t workers, now_ns, placed;
    GW_ARRAY(struct placed) placed_ranks; /* ranks of all placed gangs, in order */
    size_t ended;                         /* number of ranks in placed_ranks that have ended */
};

static void take_effects(struct bench *bench)
{
    struct gw_effect *effect;
    GW_ARRAY_EACH (&bench->effects.list, effect) {
        const struct gw_msg_assign *assign = &effect->message.assign;
        if (effect->type != GW_EFFECT_SEND || effect->message.type != GW_MESSAGE_assign)
            continue;
        for (uint32_t i = 0; i < assign->attempt.count; i++) {
            struct placed placed = {gw_col64_at(assign->attempt, i), effect->peer.id,
                                    gw_col32_at(assign->rank, i)};
            GW_MUST(gw_array_push(&bench->placed_ranks, placed));
            bench->placed += placed.rank == 0;
        }
    }
}

static void step(struct bench *bench, struct gw_event event)
{
    event.now_ns = event.wall_ns = ++bench->now_ns;
    GW_MUST(gw_sched_step(bench->sched, &event, &bench->effects));
    take_effects(bench);
}

static void say(struct bench *bench, uint64_t peer, struct gw_message message)
{
    message.sequence = ++bench->sequence[peer == CLIENT ? 0 : peer];
    step(bench, (struct gw_event){.type = GW_EVENT_MESSAGE, .peer = {peer}, .message = &message});
}

static void add_worker(struct bench *bench, uint64_t number)
{
    static const uint8_t gpu[] = {0x94, 0xa1, 'u', 0xa1, 'n', 0xce, 0x50, 0, 0, 0, 0};
    uint8_t gpus[1 + GPUS * sizeof gpu] = {0x90 + GPUS};
    char host[16];
    for (size_t i = 0; i < GPUS; i++)
        memcpy(gpus + 1 + i * sizeof gpu, gpu, sizeof gpu);
    (void)snprintf(host, sizeof host, "host-%" PRIu64, number);
    step(bench, (struct gw_event){
                    .type = GW_EVENT_OPEN, .peer = {number}, .role = GW_ROLE_WORKER, .text = host});
    say(bench, number,
        (struct gw_message){.type = GW_MESSAGE_registration,
                            .registration = {.incarnation = number,
                                             .slots = GPUS,
                                             .memory_bytes = UINT64_C(64) << 30,
                                             .gpus = {gpus, sizeof gpus},
                                             .host = host,
                                             .address = host}});
}

/* Gangs of 1, 2, 4, ... ranks with one GPU each, in turn. */
static void queue_gang(struct bench *bench, uint64_t number)
{
    uint32_t zero = 0, ranks = 1u << number % SIZES;
    struct gw_message spec = {.type = GW_MESSAGE_spec};
    spec.spec = (struct gw_msg_spec){.key = number + 1,
                                     .kind = GW_SPEC_FUNCTION,
                                     .function = "f",
                                     .cwd = "",
                                     .ranks = ranks <= bench->workers * GPUS ? ranks : 1,
                                     .slots = 1,
                                     .gpus = 1};
    struct gw_message submit = {.type = GW_MESSAGE_submit};
    submit.submit = (struct gw_msg_submit){.request = number + 1,
                                           .flags = GW_SUBMIT_LAST,
                                           .name = "g",
                                           .spec = {&zero, 1},
                                           .args_size = {&zero, 1},
                                           .args = {"", 0},
                                           .dep_count = {&zero, 1},
                                           .names = {"", 0}};
    say(bench, CLIENT, spec);
    say(bench, CLIENT, submit);
}

/* The oldest gang becomes ready, starts, and ends: one row per rank. */
static void end_oldest(struct bench *bench)
{
    size_t first = bench->ended, end = first;
    uint64_t attempt = bench->placed_ranks.items[first].attempt, bytes = 1, run_ns = 1000;
    uint32_t size = 1;
    while (end < bench->placed_ranks.count && bench->placed_ranks.items[end].attempt == attempt)
        end++;
    for (size_t i = first; i < end; i++) {
        struct placed placed = bench->placed_ranks.items[i];
        say(bench, placed.worker,
            (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                .rank_ready = {placed.attempt, placed.rank, {"", 0}}});
    }
    bench->ended = end;
    for (size_t i = first; i < end; i++) {
        struct placed placed = bench->placed_ranks.items[i];
        say(bench, placed.worker,
            (struct gw_message){.type = GW_MESSAGE_finished,
                                .finished = {.attempt = {&placed.attempt, 1},
                                             .rank = {&placed.rank, 1},
                                             .bytes = {&bytes, 1},
                                             .value_size = {&size, 1},
                                             .values = {"\x01", 1},
                                             .run_ns = {&run_ns, 1}}});
    }
}

int main(int argc, char **argv)
{
    struct bench bench = {.now_ns = GW_NS_PER_S};
    bench.workers = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    uint64_t gangs = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
    uint64_t decisions = argc > 3 ? strtoull(argv[3], NULL, 10) : 2000;
    if (bench.workers < 1 || gangs < 1) {
        fprintf(stderr, "gang_bench [workers] [gangs] [decisions]\n");
        return 2;
    }
    bench.sequence = calloc(bench.workers + 1, sizeof *bench.sequence);
    GW_MUST_PTR(bench.sequence);
    bench.sched = gw_sched_new(&(struct gw_sched_options){.state_dir = "/s"});
    step(&bench, (struct gw_event){.type = GW_EVENT_START, .number = 1});
    for (uint64_t i = 1; i <= bench.workers; i++)
        add_worker(&bench, i);
    step(&bench, (struct gw_event){
                     .type = GW_EVENT_OPEN, .peer = {CLIENT}, .role = GW_ROLE_CLIENT, .text = "c"});
    for (uint64_t i = 0; i < gangs; i++)
        queue_gang(&bench, i);

    uint64_t before = bench.placed, wanted = before + decisions;
    wanted = wanted < gangs ? wanted : gangs;
    uint64_t start_ns = gw_clock_now_ns();
    while (bench.placed < wanted)
        end_oldest(&bench);
    double seconds = (double)(gw_clock_now_ns() - start_ns) / 1e9;
    printf("%" PRIu64 " workers, %" PRIu64 " gangs: %.0f decisions/s (%" PRIu64 " in %.3f s)\n",
           bench.workers, gangs, (double)(bench.placed - before) / seconds, bench.placed - before,
           seconds);
    gw_sched_free(bench.sched);
    gw_array_deinit(&bench.effects.list);
    gw_arena_deinit(&bench.effects.arena);
    gw_array_deinit(&bench.placed_ranks);
    free(bench.sequence);
    return 0;
}
