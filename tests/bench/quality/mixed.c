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
#include "tests/bench/gang_core.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORKERS = 8,
    CLIENT, /* the peer after the workers */
    ALL_GPUS = WORKERS * GANG_CORE_GPUS,
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
    struct gang_core core;
    struct trial *trials;
    uint64_t seed, busy_ns;
    uint32_t count, submitted, started, done, live_gpus;
    uint32_t named, held_max, freed; /* freed: ranks of the trial that ended last; 0: followed */
    GW_ARRAY(struct trial) held;
};

static double draw_unit(struct mixed *mixed)
{
    mixed->seed = mixed->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(mixed->seed >> 11) + .5) * 0x1p-53;
}

static void take_assign(void *context, uint64_t worker, const struct gw_msg_assign *assign)
{
    struct mixed *mixed = context;
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        struct trial *trial = &mixed->trials[gw_col64_at(assign->job, i) - 1];
        trial->attempt = gw_col64_at(assign->attempt, i);
        trial->worker[gw_col32_at(assign->rank, i)] = worker;
        trial->placed++;
    }
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
    const size_t chosen = choose(mixed);
    struct trial *trial = &mixed->trials[mixed->submitted++];
    *trial = mixed->held.items[chosen];
    memmove(mixed->held.items + chosen, mixed->held.items + chosen + 1,
            (--mixed->held.count - chosen) * sizeof *trial);
    mixed->freed = 0;
    mixed->live_gpus += trial->ranks;
    gang_core_submit(&mixed->core, CLIENT,
                     &(struct gw_msg_spec){.key = mixed->submitted, .ranks = trial->ranks});
}

/* Starts the trials that were placed. */
static void start(struct mixed *mixed)
{
    for (uint32_t i = 0; i < mixed->submitted; i++) {
        struct trial *trial = &mixed->trials[i];
        if (trial->end_ns || trial->placed < trial->ranks)
            continue;
        trial->end_ns = mixed->core.now_ns + trial->run_ns;
        mixed->started++;
        for (uint32_t rank = 0; rank < trial->ranks; rank++)
            gang_core_rank_ready(&mixed->core, trial->worker[rank], trial->attempt, rank);
    }
}

/* Moves to the end of the trial that ends first. */
static void end_first(struct mixed *mixed)
{
    struct trial *first = NULL;
    for (uint32_t i = 0; i < mixed->submitted; i++) {
        struct trial *trial = &mixed->trials[i];
        if (trial->end_ns && !trial->ended && (!first || trial->end_ns < first->end_ns))
            first = trial;
    }
    if (!first) {
        fprintf(stderr, "mixed: nothing runs, and trials wait\n");
        exit(1);
    }
    mixed->core.now_ns = first->end_ns;
    mixed->live_gpus -= first->ranks;
    mixed->freed = first->ranks;
    for (uint32_t rank = 0; rank < first->ranks; rank++, first->ended++)
        gang_core_finish(&mixed->core, first->worker[rank], first->attempt, rank, first->run_ns);
    mixed->done++;
}

/* Returns the share. */
static double run(uint32_t count, uint32_t held_max, uint64_t seed)
{
    struct mixed mixed = {.core = {.now_ns = 1, .on_assign = take_assign, .context = &mixed},
                          .held_max = held_max,
                          .count = count,
                          .seed = seed};
    mixed.trials = calloc(count + 1, sizeof *mixed.trials);
    GW_MUST_PTR(mixed.trials);
    gang_core_init(&mixed.core,
                   &(struct gw_sched_options){.heartbeat_ns = UINT64_MAX / 4,
                                              .worker_lost_ns = UINT64_MAX / 4},
                   CLIENT);
    for (uint64_t i = 1; i <= WORKERS; i++)
        gang_core_add_worker(&mixed.core, i);
    gang_core_add_client(&mixed.core, CLIENT, NULL);
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
        const uint64_t end_ns =
            trial->end_ns < mixed.core.now_ns ? trial->end_ns : mixed.core.now_ns;
        mixed.busy_ns += trial->ranks * (end_ns - begin_ns);
    }
    gang_core_deinit(&mixed.core);
    gw_array_deinit(&mixed.held);
    free(mixed.trials);
    return (double)mixed.busy_ns / (double)(mixed.core.now_ns - 1) / ALL_GPUS;
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
