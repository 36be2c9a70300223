/* Hangs.
 *
 * A stopped process hangs, whatever the others do. Otherwise somebody must wait in a collective:
 * then those hang that have come least far, of those that wait and those that do not. Ranks that
 * are all in the same collective do not disagree: its own deadline ends it. */
#include "scheduler/core/hang.h"

#include "graph/base/text.h"
#include "scheduler/core/gang_try.h"
#include "scheduler/core/story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who has left a collective is further than who is in it. */
static uint64_t place_of(const struct gw_standing *rank)
{
    return rank->begun * 2 + (*rank->operation ? 0 : 1);
}

static void say_place(struct gw_text *text, const struct gw_standing *rank)
{
    if (rank->stopped)
        gw_text_say(text, "stopped (SIGSTOP, or a job control signal)");
    else if (*rank->operation)
        gw_text_say(text, "in %s %llu", rank->operation, (unsigned long long)rank->begun);
    else if (rank->begun)
        gw_text_say(text, "in no collective, after %llu", (unsigned long long)rank->begun);
    else
        gw_text_say(text, "in no collective yet");
}

/* Whether a rank is one of those that hang. */
static bool hangs(const struct gw_standing *rank, bool any_stopped, uint64_t least)
{
    return any_stopped ? rank->stopped : place_of(rank) == least;
}

bool gw_sched_hang_text(const struct gw_standing *ranks, uint32_t count, char *to,
                        size_t text_bytes, uint32_t *named)
{
    enum { NAMED_MAX = 8 };
    uint64_t least = UINT64_MAX, most = 0;
    bool any_stopped = false, waits = false;
    uint32_t first = GW_NONE, furthest = 0, said = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = place_of(&ranks[i]);
        any_stopped = any_stopped || ranks[i].stopped;
        waits = waits || *ranks[i].operation;
        least = at < least ? at : least;
        furthest = !ranks[i].stopped && (at > most || ranks[furthest].stopped) ? i : furthest;
        most = at > most ? at : most;
    }
    if (!any_stopped && (!waits || least == most))
        return false;
    if (GW_PLANTED(194)) {
        any_stopped = false;
        least = most;
    }
    struct gw_text text = {to, text_bytes, 0};
    for (uint32_t i = 0; i < count; i++) {
        if (!hangs(&ranks[i], any_stopped, least))
            continue;
        first = first == GW_NONE ? i : first;
        if (said++ < NAMED_MAX)
            gw_text_say(&text, "%s%u", said == 1 ? "rank " : ", ", ranks[i].rank);
    }
    if (said > NAMED_MAX)
        gw_text_say(&text, " and %u more", said - NAMED_MAX);
    gw_text_say(&text, said == 1 ? " hangs: it is " : " hang: they are ");
    say_place(&text, &ranks[first]);
    if (said < count && !hangs(&ranks[furthest], any_stopped, least)) {
        gw_text_say(&text, count - said == 1 ? ", the other is " : ", the others are ");
        say_place(&text, &ranks[furthest]);
    }
    *named = ranks[first].rank;
    return true;
}

void gw_sched_apply_rank_stood(struct gw_sched *sched, const struct gw_fact_rank_stood *fact)
{
    struct gw_rank *rank = &fact->gang->ranks[fact->rank];
    (void)sched;
    rank->still = fact->still;
    fact->gang->stood = true;
    rank->begun = fact->begun;
    rank->stopped = fact->stopped;
    (void)snprintf(rank->operation, sizeof rank->operation, "%.*s", (int)fact->operation.size,
                   fact->operation.size ? (const char *)fact->operation.data : "");
}

/* All live ranks stand still: gives how many, 0 where one of them does not. */
static uint32_t all_still(const struct gw_gang_try *gang, struct gw_standing *ranks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < gang->count; i++) {
        const struct gw_rank *rank = &gang->ranks[i];
        if (rank->slot == GW_NONE)
            continue;
        if (!rank->still)
            return 0;
        ranks[count++] = (struct gw_standing){i, rank->begun, rank->operation, rank->stopped};
    }
    return count;
}

static void end_if_hung(struct gw_sched *sched, struct gw_gang_try *gang, const char *stacks)
{
    struct gw_standing *ranks = gw_arena_alloc(&sched->effects->arena, gang->count * sizeof *ranks);
    GW_MUST_PTR(ranks);
    uint32_t count = all_still(gang, ranks), named = 0;
    char text[512];
    if (!count || !gw_sched_hang_text(ranks, count, text, sizeof text, &named))
        return;
    struct gw_end end = {
        .outcome = GW_OUTCOME_CRASHED, .executing = true, .text = text, .stderr_tail = stacks};
    GW_FACT(sched, gang_ending, .gang = gang, .rank = named, .cause = &end);
    gw_sched_gang_kill(sched, gang, &(struct gw_gang_kill){GW_FAIL_GRACE_NS, GW_KILL_GANG, &end});
}

int gw_sched_on_gang_stuck(struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_msg_gang_stuck *stuck)
{
    uint32_t rows = stuck->rank.count;
    if (stuck->begun.count != rows || stuck->stopped.count != rows ||
        stuck->operation_size.count != rows)
        return GW_EPROTO;
    struct gw_gang_try *gang = gw_sched_gang_find(sched, stuck->attempt);
    if (!gang || (gang->state != GW_GANG_GOING && gang->state != GW_GANG_GATHERING))
        return 0;
    for (uint32_t i = 0; i < gang->count && rows == 0; i++)
        if (gang->ranks[i].worker == worker->id && gang->ranks[i].still)
            GW_FACT(sched, rank_stood, .gang = gang, .rank = i);
    const uint8_t *at = stuck->operations.data, *end = at + stuck->operations.size;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t rank = gw_col32_at(stuck->rank, i);
        uint32_t size = gw_col32_at(stuck->operation_size, i);
        if (size > (size_t)(end - at))
            return GW_EPROTO;
        if (gw_sched_gang_slot(sched, worker, stuck->attempt, rank) != GW_NONE)
            GW_FACT(sched, rank_stood, .gang = gang, .rank = rank, .still = true,
                    .begun = gw_col64_at(stuck->begun, i),
                    .stopped = gw_col32_at(stuck->stopped, i) != 0, .operation = {at, size});
        at += size;
    }
    if (rows && gang->state == GW_GANG_GOING)
        end_if_hung(sched, gang, stuck->stacks);
    return 0;
}

void gw_sched_hang_on_finished(struct gw_sched *sched, struct gw_gang_try *gang)
{
    if (gang->stood && gang->state == GW_GANG_GOING)
        end_if_hung(sched, gang, "");
}
