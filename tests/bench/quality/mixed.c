/* Mixed gangs of a sweep in virtual time: which share of the time GPUs are busy.
 *
 *     mixed [TRIALS] [LIMIT]
 *
 * 8 workers with 8 GPUs each. Trials are gangs of 1, 4 or 16 ranks with one GPU each, drawn at
 * random, of 10 minutes in the median (log-normal, sigma 0.5, at any size). As the controller of a
 * sweep does (client/sweep/controller/sweep_start.c), submits trials until they fill the cluster
 * twice. A trial that ends is followed by one of its size, and up to 8 others are held meanwhile. A
 * first run holds none. The share counts from the first start to the moment when no trial waits
 * any more: from there on, the sweep has nothing to give to a GPU that is free. Control messages
 * take no time. Prints the share of 5 seeds and their mean, and ends with 1 if the mean of the
 * second run is below LIMIT. */
#include "graph/base/array.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "scheduler/core/sched.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLIENT = 1 << 20,
    WORKERS = 8,
    GPUS = 8,
    ALL_GPUS = WORKERS * GPUS,
    RANKS_MAX = 16,
    FILLS = 2,
    HELD = 8,
    SEEDS = 5
};
#define MEDIAN_S 600.

struct trial {
    uint32_t ranks, placed, ended; /* ranks: placed so far, and ended so far */
    uint64_t run_ns, end_ns;       /* end_ns: 0 if it does not run */
    uint64_t attempt, worker[RANKS_MAX];
};

struct mixed {
    struct gw_sched *sched;
    struct gw_effects effects;
    struct trial *trials;
    uint64_t sequence[WORKERS + 1], seed, now_ns, busy_ns;
    uint32_t count, submitted, started, done, live_gpus;
    uint32_t named, held_max, freed; /* freed: ranks of the trial that ended last; 0: followed */
    GW_ARRAY(struct trial) held;
};

static double draw_unit(struct mixed *mixed)
{
    mixed->seed = mixed->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(mixed->seed >> 11) + .5) * 0x1p-53;
}

static void note_rank(struct mixed *mixed, uint64_t worker, uint64_t attempt, uint64_t job,
                      uint32_t rank)
{
    struct trial *trial = &mixed->trials[job - 1];
    trial->attempt = attempt;
    trial->worker[rank] = worker;
    trial->placed++;
}

static void step(struct mixed *mixed, struct gw_event event)
{
    struct gw_effect *effect;
    event.now_ns = event.wall_ns = mixed->now_ns;
    GW_MUST(gw_sched_step(mixed->sched, &event, &mixed->effects));
    GW_ARRAY_EACH (&mixed->effects.list, effect) {
        const struct gw_msg_assign *assign = &effect->message.assign;
        if (effect->type != GW_EFFECT_SEND || effect->message.type != GW_MESSAGE_assign)
            continue;
        for (uint32_t i = 0; i < assign->attempt.count; i++)
            note_rank(mixed, effect->peer.id, gw_col64_at(assign->attempt, i),
                      gw_col64_at(assign->job, i), gw_col32_at(assign->rank, i));
    }
}

static void send(struct mixed *mixed, uint64_t peer, struct gw_message message)
{
    message.sequence = ++mixed->sequence[peer == CLIENT ? 0 : peer];
    step(mixed, (struct gw_event){.type = GW_EVENT_MESSAGE, .peer = {peer}, .message = &message});
}

static void add_worker(struct mixed *mixed, uint64_t number)
{
    static const uint8_t gpu[] = {0x94, 0xa1, 'u', 0xa1, 'n', 0xce, 0x50, 0, 0, 0, 0};
    uint8_t gpus[1 + GPUS * sizeof gpu] = {0x90 + GPUS};
    char host[16];
    for (size_t i = 0; i < GPUS; i++)
        memcpy(gpus + 1 + i * sizeof gpu, gpu, sizeof gpu);
    (void)snprintf(host, sizeof host, "host-%" PRIu64, number);
    step(mixed, (struct gw_event){
                    .type = GW_EVENT_OPEN, .peer = {number}, .role = GW_ROLE_WORKER, .text = host});
    send(mixed, number,
         (struct gw_message){.type = GW_MESSAGE_registration,
                             .registration = {.incarnation = number,
                                              .slots = GPUS,
                                              .memory_bytes = UINT64_C(64) << 30,
                                              .gpus = {gpus, sizeof gpus},
                                              .host = host,
                                              .address = host}});
}

static void name(struct mixed *mixed)
{
    static const uint32_t sizes[] = {1, 4, 16};
    const double normal = sqrt(-2 * log(draw_unit(mixed))) * cos(2 * M_PI * draw_unit(mixed));
    struct trial trial = {.run_ns = (uint64_t)(MEDIAN_S * exp(.5 * normal) * 1e9)};
    trial.ranks = sizes[(uint32_t)(3 * draw_unit(mixed))];
    GW_MUST(gw_array_push(&mixed->held, trial));
    mixed->named++;
}

/* Returns the index of the held trial that is submitted next. */
static size_t choose(struct mixed *mixed)
{
    for (size_t i = 0;; i++) {
        if (i == mixed->held.count && mixed->named < mixed->count &&
            (i == 0 || i < mixed->held_max))
            name(mixed);
        if (i == mixed->held.count)
            return 0;
        if (!mixed->held_max || !mixed->freed || mixed->held.items[i].ranks == mixed->freed)
            return i;
    }
}

static void submit(struct mixed *mixed)
{
    static const uint32_t zero;
    const size_t chosen = choose(mixed);
    struct trial *trial = &mixed->trials[mixed->submitted++];
    *trial = mixed->held.items[chosen];
    memmove(mixed->held.items + chosen, mixed->held.items + chosen + 1,
            (--mixed->held.count - chosen) * sizeof *trial);
    mixed->freed = 0;
    mixed->live_gpus += trial->ranks;
    send(mixed, CLIENT,
         (struct gw_message){.type = GW_MESSAGE_spec,
                             .spec = {.key = mixed->submitted,
                                      .kind = GW_SPEC_FUNCTION,
                                      .function = "trial",
                                      .cwd = "",
                                      .ranks = trial->ranks,
                                      .slots = 1,
                                      .gpus = 1}});
    send(mixed, CLIENT,
         (struct gw_message){.type = GW_MESSAGE_submit,
                             .submit = {.request = mixed->submitted,
                                        .flags = GW_SUBMIT_LAST,
                                        .name = "sweep",
                                        .spec = {&zero, 1},
                                        .args_size = {&zero, 1},
                                        .args = {"", 0},
                                        .dep_count = {&zero, 1},
                                        .names = {"", 0}}});
}

/* Starts the trials that were placed. */
static void start(struct mixed *mixed)
{
    for (uint32_t i = 0; i < mixed->submitted; i++) {
        struct trial *trial = &mixed->trials[i];
        if (trial->end_ns || trial->placed < trial->ranks)
            continue;
        trial->end_ns = mixed->now_ns + trial->run_ns;
        mixed->started++;
        for (uint32_t rank = 0; rank < trial->ranks; rank++)
            send(mixed, trial->worker[rank],
                 (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                     .rank_ready = {trial->attempt, rank, {"", 0}}});
    }
}

/* Moves to the end of the trial that ends first. */
static void end_first(struct mixed *mixed)
{
    struct trial *first = NULL;
    uint64_t bytes = 1;
    uint32_t size = 1;
    for (uint32_t i = 0; i < mixed->submitted; i++) {
        struct trial *trial = &mixed->trials[i];
        if (trial->end_ns && !trial->ended && (!first || trial->end_ns < first->end_ns))
            first = trial;
    }
    if (!first) {
        fprintf(stderr, "mixed: nothing runs, and trials wait\n");
        exit(1);
    }
    mixed->now_ns = first->end_ns;
    mixed->live_gpus -= first->ranks;
    mixed->freed = first->ranks;
    for (uint32_t rank = 0; rank < first->ranks; rank++, first->ended++)
        send(mixed, first->worker[rank],
             (struct gw_message){.type = GW_MESSAGE_finished,
                                 .finished = {.attempt = {&first->attempt, 1},
                                              .rank = {&rank, 1},
                                              .bytes = {&bytes, 1},
                                              .value_size = {&size, 1},
                                              .values = {"\x01", 1},
                                              .run_ns = {&first->run_ns, 1}}});
    mixed->done++;
}

/* Returns the share. */
static double run(uint32_t count, uint32_t held_max, uint64_t seed)
{
    struct mixed mixed = {.now_ns = 1, .held_max = held_max, .count = count, .seed = seed};
    mixed.trials = calloc(count + 1, sizeof *mixed.trials);
    GW_MUST_PTR(mixed.trials);
    mixed.sched = gw_sched_new(&(struct gw_sched_options){.heartbeat_ns = UINT64_MAX / 4,
                                                          .worker_lost_ns = UINT64_MAX / 4});
    step(&mixed, (struct gw_event){.type = GW_EVENT_START, .number = 1});
    for (uint64_t i = 1; i <= WORKERS; i++)
        add_worker(&mixed, i);
    step(&mixed, (struct gw_event){
                     .type = GW_EVENT_OPEN, .peer = {CLIENT}, .role = GW_ROLE_CLIENT, .text = "c"});
    while (mixed.started < count) {
        while (mixed.submitted < count && mixed.live_gpus < FILLS * ALL_GPUS)
            submit(&mixed);
        start(&mixed);
        if (mixed.started < count)
            end_first(&mixed);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct trial *trial = &mixed.trials[i];
        const uint64_t begin_ns = trial->end_ns - trial->run_ns;
        const uint64_t end_ns = trial->end_ns < mixed.now_ns ? trial->end_ns : mixed.now_ns;
        mixed.busy_ns += trial->ranks * (end_ns - begin_ns);
    }
    gw_sched_free(mixed.sched);
    gw_array_deinit(&mixed.effects.list);
    gw_arena_deinit(&mixed.effects.arena);
    gw_array_deinit(&mixed.held);
    free(mixed.trials);
    return (double)mixed.busy_ns / (double)(mixed.now_ns - 1) / ALL_GPUS;
}

int main(int argc, char **argv)
{
    static const uint32_t held[] = {0, HELD};
    const uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000;
    double mean = 0;
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        mean = 0;
        printf("%" PRIu32 " trials, at most %" PRIu32 " held: GPUs busy", count, held[i]);
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const double share = run(count, held[i], seed);
            mean += share / SEEDS;
            printf(" %.3f", share);
        }
        printf(", mean %.4f\n", mean);
    }
    return argc > 2 && mean < strtod(argv[2], NULL);
}
