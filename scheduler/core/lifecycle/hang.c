/* Detection of ranks that hang.
 *
 * A rank whose process is stopped by SIGSTOP hangs in any case. Otherwise at least one rank must
 * wait in a collective: then the ranks that have made the least progress hang. If all ranks wait
 * in the same collective, none of them is behind, and the time limit of the collective ends it.
 *
 * Before such an attempt is ended, the workers are asked for the stacks of their ranks. This stops
 * the processes for a moment, so it is done only when a hang is certain. The wait for the answers
 * always ends: each worker answers within seconds, or is lost, or reports that its ranks move
 * again. */
#include "scheduler/core/lifecycle/hang.h"

#include "graph/base/text.h"
#include "scheduler/core/lifecycle/gang_end.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/send.h"

#include <msgpack.h>
#include <stdio.h>
#include <string.h>

/* Returns the progress of a rank as a number. A rank that has left a collective is ahead of a rank
 * that is still in it. */
static uint64_t place_of(const struct gw_rank_state *rank)
{
    return rank->begun * 2 + (*rank->operation ? 0 : 1);
}

static void say_place(struct gw_text *text, const struct gw_rank_state *rank)
{
    if (rank->stopped)
        gw_text_say(text, "stopped (SIGSTOP, or a job control signal)");
    else if (*rank->operation)
        gw_text_say(text, "in %s %llu", rank->operation, (unsigned long long)rank->begun);
    else if (rank->begun)
        gw_text_say(text, "in no collective (%llu so far)", (unsigned long long)rank->begun);
    else
        gw_text_say(text, "in no collective yet");
}

/* A summary of all ranks. */
struct view {
    bool any_stopped, waits; /* a rank is stopped; a rank is in a collective */
    uint64_t least, most;
    uint32_t furthest; /* rank with the most progress, not stopped if possible */
};

static struct view view_of(const struct gw_rank_state *ranks, uint32_t count)
{
    struct view view = {.least = UINT64_MAX};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = place_of(&ranks[i]);
        view.any_stopped = view.any_stopped || ranks[i].stopped;
        view.waits = view.waits || *ranks[i].operation;
        view.least = at < view.least ? at : view.least;
        if (!ranks[i].stopped && (at > view.most || ranks[view.furthest].stopped))
            view.furthest = i;
        view.most = at > view.most ? at : view.most;
    }
    return view;
}

/* Returns true if the rank is one of those that hang. */
static bool hangs(const struct view *view, const struct gw_rank_state *rank)
{
    return view->any_stopped ? rank->stopped : place_of(rank) == view->least;
}

/* Each call of say_rank appends one rank to a list such as "rank 1, 2". say_more appends the number
 * of ranks that were left out after the first NAMED_MAX. */
enum { NAMED_MAX = 8 };

static void say_rank(struct gw_text *text, uint32_t *said, uint32_t rank)
{
    if ((*said)++ < NAMED_MAX)
        gw_text_say(text, "%s%u", *said == 1 ? "rank " : ", ", rank);
}

static void say_more(struct gw_text *text, uint32_t said)
{
    if (said > NAMED_MAX)
        gw_text_say(text, " and %u more", said - NAMED_MAX);
}

bool gw_sched_hang_text(const struct gw_rank_state *ranks, uint32_t count, char *to,
                        size_t text_bytes, uint32_t *named)
{
    uint32_t first = GW_NO_INDEX, said = 0;
    struct view view = view_of(ranks, count);
    if (!view.any_stopped && (!view.waits || view.least == view.most))
        return false;
    struct gw_text text = {to, text_bytes, 0};
    for (uint32_t i = 0; i < count; i++) {
        if (!hangs(&view, &ranks[i]))
            continue;
        first = first == GW_NO_INDEX ? i : first;
        say_rank(&text, &said, ranks[i].rank);
    }
    say_more(&text, said);
    gw_text_say(&text, said == 1 ? " hangs: it is " : " hang: they are ");
    say_place(&text, &ranks[first]);
    if (said < count && !hangs(&view, &ranks[view.furthest])) {
        gw_text_say(&text, count - said == 1 ? ", the other is " : ", the others are ");
        say_place(&text, &ranks[view.furthest]);
    }
    *named = ranks[first].rank;
    return true;
}

/* -- Stacks -------------------------------------------------------------------------------- */

/* One line of output: the ranks with the same stack that all hang or all do not hang. */
struct line {
    const char *stack;
    bool hangs;
};

static bool is_of(const struct line *line, const struct view *view,
                  const struct gw_rank_state *rank)
{
    return rank->stack && hangs(view, rank) == line->hangs && strcmp(rank->stack, line->stack) == 0;
}

static uint32_t find_lines(const struct gw_rank_state *ranks, uint32_t count,
                           const struct view *view, struct line lines[static GW_HANG_LINES_MAX])
{
    uint32_t found = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < count && found < GW_HANG_LINES_MAX; i++) {
            uint32_t same = 0;
            if (!ranks[i].stack || hangs(view, &ranks[i]) != (pass == 0))
                continue;
            while (same < found && !is_of(&lines[same], view, &ranks[i]))
                same++;
            if (same == found)
                lines[found++] = (struct line){ranks[i].stack, pass == 0};
        }
    return found;
}

void gw_sched_hang_stacks(const struct gw_rank_state *ranks, uint32_t count, char *to,
                          size_t text_bytes)
{
    struct line lines[GW_HANG_LINES_MAX];
    struct gw_text text = {to, text_bytes, 0};
    const struct view view = view_of(ranks, count);
    const uint32_t found = find_lines(ranks, count, &view, lines);
    *to = '\0';
    for (uint32_t l = 0; l < found; l++) {
        const size_t before = text.used;
        uint32_t said = 0;
        for (uint32_t i = 0; i < count; i++)
            if (is_of(&lines[l], &view, &ranks[i]))
                say_rank(&text, &said, ranks[i].rank);
        say_more(&text, said);
        gw_text_say(&text, ": %s\n", lines[l].stack);
        /* Remove a line that does not fit as a whole. */
        if (text.used >= text_bytes) {
            to[before] = '\0';
            return;
        }
    }
}

/* -- Decisions ----------------------------------------------------------------------------- */

/* Returns the number of living ranks and fills `ranks`, if none of them moves. Returns 0 if a rank
 * moves. */
static uint32_t all_still(const struct gw_gang_attempt *gang, struct gw_rank_state *ranks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < gang->count; i++) {
        const struct gw_rank *rank = &gang->ranks[i];
        if (rank->slot == GW_NO_INDEX)
            continue;
        if (!rank->still)
            return 0;
        ranks[count++] =
            (struct gw_rank_state){i, rank->begun, rank->operation, rank->stopped, rank->stack};
    }
    return count;
}

/* Returns true if the stacks of all living ranks that are ready (or, if `ready` is false, not
 * ready) are known. Otherwise asks the workers for the missing stacks. */
static bool all_seen(struct gw_sched *sched, struct gw_gang_attempt *gang, bool ready)
{
    bool seen = true;
    const struct gw_worker *last = NULL;
    for (uint32_t i = 0; i < gang->count; i++) {
        const struct gw_rank *rank = &gang->ranks[i];
        if (rank->slot == GW_NO_INDEX || rank->ready != ready || rank->seen)
            continue;
        seen = false;
        if (rank->asked)
            continue;
        gw_sched_gang_rank_ask(gang, i);
        const struct gw_worker *worker = sched->attempts.items[rank->slot].worker;
        if (worker != last)
            gw_sched_send(sched, worker->remote, GW_MESSAGE_gang_look)->gang_look =
                (struct gw_msg_gang_look){gang->id};
        last = worker; /* the ranks of a worker are adjacent */
    }
    return seen;
}

static void end_if_hung(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    struct gw_rank_state *ranks =
        gw_arena_alloc(&sched->step.effects->arena, gang->count * sizeof *ranks);
    GW_MUST_PTR(ranks);
    uint32_t count = all_still(gang, ranks), named = 0;
    char text[512], stacks[768], hint[64];
    if (!count || !gw_sched_hang_text(ranks, count, text, sizeof text, &named) ||
        !all_seen(sched, gang, true))
        return;
    int length = snprintf(hint, sizeof hint, "full stacks: gangway logs %llu/%u --rank %u",
                          (unsigned long long)gang->job->id, gang->index, named);
    gw_sched_hang_stacks(ranks, count, stacks, sizeof stacks - (size_t)length);
    (void)strcat(stacks, hint);
    struct gw_end end = {
        .outcome = GW_OUTCOME_CRASHED, .executing = true, .text = text, .stderr_tail = stacks};
    gw_sched_gang_end(sched, gang, named, &end);
    gw_sched_gang_end_kill(sched, gang,
                           &(struct gw_gang_kill){GW_FAIL_GRACE_NS, GW_KILL_GANG, &end});
}

void gw_sched_hang_ask_late(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    (void)all_seen(sched, gang, false);
}

uint32_t gw_sched_hang_late(const struct gw_gang_attempt *gang, char *stacks, size_t stacks_bytes)
{
    uint32_t blamed = GW_NO_INDEX;
    struct gw_text text = {stacks, stacks_bytes, 0};
    *stacks = '\0';
    for (uint32_t i = 0; i < gang->count; i++) {
        const struct gw_rank *rank = &gang->ranks[i];
        if (rank->ready)
            continue;
        if (blamed == GW_NO_INDEX || (rank->stopped && !gang->ranks[blamed].stopped))
            blamed = i;
        const size_t before = text.used;
        if (rank->stack && before < stacks_bytes)
            gw_text_say(&text, "%srank %u: %s", before ? "\n" : "", i, rank->stack);
        /* Remove a line that does not fit as a whole. */
        if (text.used >= stacks_bytes && before < stacks_bytes)
            stacks[before] = '\0';
    }
    return blamed == GW_NO_INDEX ? 0 : blamed;
}

/* Takes the next `size` bytes from the front of `texts`, which holds the texts of all ranks one
 * after the other. Returns false if they are too short. */
static bool take_text(struct gw_bin *texts, uint32_t size, struct gw_bin *text)
{
    if (size > texts->size)
        return false;
    *text = (struct gw_bin){texts->data, size};
    *texts = (struct gw_bin){(const uint8_t *)texts->data + size, texts->size - size};
    return true;
}

int gw_sched_on_gang_stuck(struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_msg_gang_stuck *stuck)
{
    uint32_t rows = stuck->rank.count;
    if (stuck->begun.count != rows || stuck->stopped.count != rows ||
        stuck->operation_size.count != rows || stuck->stack_size.count != rows)
        return GW_EPROTO;
    struct gw_gang_attempt *gang = gw_sched_gang_find(sched, stuck->attempt);
    const bool forms = stuck->closely == 2;
    if (!gang || (forms ? gang->state != GW_GANG_PREPARING
                        : gang->state != GW_GANG_RUNNING && gang->state != GW_GANG_RECOVERING))
        return 0;
    for (uint32_t i = 0; i < gang->count && rows == 0; i++)
        if (gang->ranks[i].worker == worker->id && gang->ranks[i].still)
            gw_sched_gang_rank_stand(gang, i, &(struct gw_stood){0});
    struct gw_bin operations = stuck->operations, stacks = stuck->stacks;
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t rank = gw_col32_at(stuck->rank, i);
        struct gw_stood stood = {.still = !forms,
                                 .begun = gw_col64_at(stuck->begun, i),
                                 .stopped = gw_col32_at(stuck->stopped, i) & 1,
                                 .idle = gw_col32_at(stuck->stopped, i) & 2,
                                 .seen = stuck->closely != 0};
        if (!take_text(&operations, gw_col32_at(stuck->operation_size, i), &stood.operation) ||
            !take_text(&stacks, gw_col32_at(stuck->stack_size, i), &stood.stack))
            return GW_EPROTO;
        /* While the gang starts, only ranks that are not ready in time are of interest. */
        if (gw_sched_gang_slot(sched, worker, stuck->attempt, rank) != GW_NO_INDEX &&
            (!forms || (gang->late && !gang->ranks[rank].ready)))
            gw_sched_gang_rank_stand(gang, rank, &stood);
    }
    if (forms && gang->late && all_seen(sched, gang, false))
        gw_sched_hang_end_late(sched, gang);
    else if (rows && gang->state == GW_GANG_RUNNING)
        end_if_hung(sched, gang);
    return 0;
}

void gw_sched_hang_on_finished(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    if (gang->stood && gang->state == GW_GANG_RUNNING)
        end_if_hung(sched, gang);
}

void gw_sched_hang_explain(const struct gw_gang_attempt *gang, struct gw_text *text)
{
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    char limit[GW_TEXT_DURATION_ROOM];
    uint32_t live = 0;
    for (uint32_t i = 0; i < gang->count; i++) {
        if (gang->ranks[i].slot == GW_NO_INDEX)
            continue;
        if (!gang->ranks[i].idle)
            return;
        live++;
    }
    if (!live || gang->state != GW_GANG_RUNNING)
        return;
    gw_text_say(
        text,
        "; no rank has used CPU or written output for %s or longer (--hang-timeout). They "
        "may be waiting for each other: `gangway exec %llu/%u --rank 0 -- cat /proc/{pid}/wchan`, "
        "or gdb instead of cat, shows where a rank is",
        gw_text_duration(spec->message.hang_timeout_ns, limit), (unsigned long long)gang->job->id,
        gang->index);
}

void gw_sched_hang_on_tick(struct gw_sched *sched)
{
    while (sched->preparing && sched->preparing->deadline_ns <= sched->now_ns) {
        struct gw_gang_attempt *gang = sched->preparing;
        if (!gang->late) {
            gw_sched_gang_set_late(sched, gang);
            gw_sched_hang_ask_late(sched, gang);
        } else {
            gw_sched_hang_end_late(sched, gang);
        }
    }
}

void gw_sched_hang_end_late(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    char text[128], stacks[512], time[GW_TEXT_DURATION_ROOM];
    const uint32_t rank = gw_sched_hang_late(gang, stacks, sizeof stacks);
    (void)snprintf(text, sizeof text, "the rank did not become ready in %s%s",
                   gw_text_duration(gw_sched_gang_prepare_ns(sched, gang), time),
                   gang->ranks[rank].stopped
                       ? ": its process is stopped (SIGSTOP, or a job control signal)"
                       : "");
    struct gw_end end = {
        .outcome = GW_OUTCOME_CRASHED, .executing = true, .text = text, .stderr_tail = stacks};
    gw_sched_gang_end(sched, gang, rank, &end);
    gw_sched_quarantine_begin(sched, sched->attempts.items[gang->ranks[rank].slot].worker, false);
    gw_sched_gang_end_kill(sched, gang,
                           &(struct gw_gang_kill){GW_FAIL_GRACE_NS, GW_KILL_GANG, &end});
}
