/* gang_bench: how many gangs the scheduler core places per second. One session has queued gangs of
 * all sizes on workers with 8 slots and 8 GPUs each. The simulated workers make the oldest gang
 * ready, start it and end it immediately, and its resources go to the next gangs. Messages are
 * passed by pointer.
 *
 *     gang_bench [workers] [gangs] [decisions]
 */
#include "tests/bench/gang_core.h"

#include "graph/base/clock.h"
#include "graph/base/must.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZES = 8 };

struct placed {
    uint64_t attempt, worker;
    uint32_t rank;
};

struct bench {
    struct gang_core core;
    uint64_t workers, placed;
    GW_ARRAY(struct placed) placed_ranks; /* ranks of all placed gangs, in order */
    size_t ended;                         /* number of ranks in placed_ranks that have ended */
};

static void take_assign(void *context, uint64_t worker, const struct gw_msg_assign *assign)
{
    struct bench *bench = context;
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        struct placed placed = {gw_col64_at(assign->attempt, i), worker,
                                gw_col32_at(assign->rank, i)};
        GW_MUST(gw_array_push(&bench->placed_ranks, placed));
        bench->placed += placed.rank == 0;
    }
}

/* Gangs of 1, 2, 4, ... ranks with one GPU each, in turn. */
static void queue_gang(struct bench *bench, uint64_t number)
{
    const uint32_t ranks = 1u << number % SIZES;
    bench->core.now_ns++;
    gang_core_submit(
        &bench->core, bench->workers + 1,
        &(struct gw_msg_spec){.key = number + 1,
                              .ranks = ranks <= bench->workers * GANG_CORE_GPUS ? ranks : 1});
}

/* The oldest gang becomes ready, starts, and ends: one row per rank. */
static void end_oldest(struct bench *bench)
{
    const size_t first = bench->ended;
    const uint64_t attempt = bench->placed_ranks.items[first].attempt;
    size_t end = first;
    while (end < bench->placed_ranks.count && bench->placed_ranks.items[end].attempt == attempt)
        end++;
    for (size_t i = first; i < end; i++) {
        const struct placed placed = bench->placed_ranks.items[i];
        bench->core.now_ns++;
        gang_core_rank_ready(&bench->core, placed.worker, attempt, placed.rank);
    }
    bench->ended = end;
    for (size_t i = first; i < end; i++) {
        const struct placed placed = bench->placed_ranks.items[i];
        bench->core.now_ns++;
        gang_core_finish(&bench->core, placed.worker, attempt, placed.rank, 1000);
    }
}

int main(int argc, char **argv)
{
    struct bench bench = {
        .core = {.now_ns = GW_NS_PER_S, .on_assign = take_assign, .context = &bench}};
    bench.workers = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    uint64_t gangs = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
    uint64_t decisions = argc > 3 ? strtoull(argv[3], NULL, 10) : 2000;
    if (bench.workers < 1 || gangs < 1) {
        fprintf(stderr, "gang_bench [workers] [gangs] [decisions]\n");
        return 2;
    }
    gang_core_init(&bench.core, &(struct gw_sched_options){.state_dir = "/s"}, bench.workers + 1);
    for (uint64_t i = 1; i <= bench.workers; i++)
        gang_core_add_worker(&bench.core, i);
    gang_core_add_client(&bench.core, bench.workers + 1, NULL);
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
    gang_core_deinit(&bench.core);
    gw_array_deinit(&bench.placed_ranks);
    return 0;
}
