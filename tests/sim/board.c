/* The board of a host, by which runners take what others make before it was told; and rows that are
 * skipped, because they cannot have that.
 *
 * What a runner has put there it may tell later, or never: when it dies before that, what others
 * took does not count, and is made again. */
#include "tests/sim/board.h"
#include "tests/sim/nested.h"

#include "graph/wire/board.h"

enum { UNSAID_MAX = 12, COLUMNS_MIN = 4, COLUMNS_MAX = 9, STEPS = 16, WORLDS = 7 };

/* -- Worlds of stencils --------------------------------------------------------------------------
 */

bool sim_board_world(const struct sim *sim)
{
    return sim_hash(sim->seed, 620) % WORLDS == 0;
}

bool sim_board_wants(struct sim *sim)
{
    return sim_board_world(sim) && sim_chance(sim, 80);
}

struct sim_job *sim_board_job(struct sim *sim, struct client *client)
{
    struct sim_job *job = sim_job_new(sim, client);
    const uint32_t columns = COLUMNS_MIN + (uint32_t)sim_below(sim, COLUMNS_MAX - COLUMNS_MIN + 1),
                   rows = columns * (1 + (uint32_t)sim_below(sim, STEPS));
    for (uint32_t i = 0; i < rows; i++) {
        struct work *work = sim_work_new(sim, job);
        const uint32_t column = i % columns;
        work->run_ns = 50000;
        work->retries = 2;
        for (uint32_t c = column; i >= columns && c < column + 2; c++)
            work->deps[work->dep_count++] =
                (struct dep){job->work.items[i - column - columns + c % columns], 0};
        work->inputs = sim_work_inputs(work);
        work->fails = sim_chance(sim, 1);
        work->crashes = sim_chance(sim, 1);
        if (sim_chance(sim, 2))
            work->bytes = 8 + sim_below(sim, 100000);
        work->target = work->held = i + columns >= rows || sim_chance(sim, 20);
    }
    return job;
}

/* -- What a runner is told -----------------------------------------------------------------------
 */

void sim_board_told(struct process *process, const struct gw_msg_board_put *put)
{
    for (uint32_t i = 0; i < put->attempt.count; i++)
        GW_MUST(gw_array_push(&process->posts,
                              ((struct sim_post){.attempt = gw_col64_at(put->attempt, i),
                                                 .place = gw_col64_at(put->place, i)})));
}

static void sum_up(struct row *row)
{
    row->inputs = 0;
    for (uint32_t i = 0; i < row->in_count; i++)
        row->inputs = sim_hash(row->inputs, row->in[i].value);
}

void sim_board_place(struct process *process, struct row *row)
{
    sum_up(row); /* once more when all has come */
    if (!process->posts.count || process->posts.items[0].attempt != row->attempt)
        return;
    row->place = process->posts.items[0].place;
    memmove(process->posts.items, process->posts.items + 1,
            --process->posts.count * sizeof *process->posts.items);
}

void sim_board_input(struct row *row, uint64_t value, uint64_t place)
{
    assert(row->in_count < SIM_ROW_INPUTS);
    row->in[row->in_count].value = value;
    row->in[row->in_count++].place = place;
}

void sim_board_of_batch(struct sim *sim, const struct process *process, size_t at, struct row *row)
{
    SIM_CHECK(sim, at < process->rows.count, "task %llu takes what comes behind it",
              (unsigned long long)row->work->id);
    const struct row *from = &process->rows.items[at];
    sim_board_input(row, sim_work_value(from->work, 0), 0);
    row->takes[row->take_count++] = from->attempt;
}

/* What lies where a place is to be. */
static struct sim_post *find(struct host *host, uint64_t place)
{
    for (size_t i = 0; i < host->board.count; i++)
        if (host->board.items[i].place % GW_BOARD_SLOTS == place % GW_BOARD_SLOTS)
            return &host->board.items[i];
    return NULL;
}

static void put(struct host *host, const struct row *row, bool made)
{
    struct sim_post post = {.attempt = row->attempt,
                            .place = row->place,
                            .made = made,
                            .value = made ? sim_work_value(row->work, 0) : 0};
    struct sim_post *there = find(host, row->place);
    if (!row->place)
        return;
    if (there)
        *there = post;
    else
        GW_MUST(gw_array_push(&host->board, post));
}

/* -- Skipping ------------------------------------------------------------------------------------
 */

void sim_board_skip(struct sim *sim, struct process *process, uint64_t attempt)
{
    for (size_t i = 0; i < process->rows.count; i++) {
        struct row *row = &process->rows.items[i];
        bool takes = false;
        for (uint32_t k = 0; k < row->take_count; k++)
            takes = takes || row->takes[k] == attempt;
        if (!takes || row->skip)
            continue;
        sim_fault(sim, FAULT_SKIP);
        row->skip = true;
        sim_board_skip(sim, process, row->attempt);
    }
}

/* One of an earlier version removes them, and says nothing. */
static void remove_silently(struct process *process)
{
    size_t kept = 0;
    for (size_t i = 0; i < process->rows.count; i++)
        if (!process->rows.items[i].skip)
            process->rows.items[kept++] = process->rows.items[i];
    process->rows.count = kept;
}

static void say_skipped(struct sim *sim, struct process *process)
{
    struct row row = process->rows.items[0];
    struct gw_message message = {.type = GW_MESSAGE_skipped, .skipped = {row.attempt}};
    struct host *host = process->host;
    uint64_t pid = process->pid, epoch = process->epoch;
    if (process->unsaid.count) { /* what it is sent for that may be what it then begins with */
        sim_actor_say(sim, process);
        process = host->core ? sim_process_find(host, pid) : NULL;
        if (!process || !process->alive || process->epoch != epoch)
            return;
    }
    put(host, &row, false);
    sim_process_pop(process);
    sim_board_skip(sim, process, row.attempt);
    process->epoch++;
    sim_process_tell(sim, process, &message, NULL, 0);
    if (host->core && (process = sim_process_find(host, pid)) && process->alive)
        sim_process_execute(sim, process);
}

/* -- Taking --------------------------------------------------------------------------------------
 */

/* Whether all has come that a row takes from the board; what will not come has it skipped. */
static bool has_come(struct sim *sim, struct process *process, struct row *row)
{
    for (uint32_t i = 0; i < row->in_count; i++) {
        if (!row->in[i].place)
            continue;
        const struct sim_post *post = find(process->host, row->in[i].place);
        if (!post || post->place != row->in[i].place) {
            if (row->looks++ > 0 && sim_chance(sim, 15)) {
                sim_fault(sim, FAULT_BOARD_LATE);
                row->skip = true;
            }
            return row->skip;
        }
        sim_fault(sim, post->made ? FAULT_BOARD_TAKEN : FAULT_BOARD_WITHOUT);
        row->skip = !post->made;
        if (row->skip)
            return true;
        GW_MUST(gw_array_push(&process->host->taken, ((struct sim_post){.attempt = row->attempt,
                                                                        .place = post->place,
                                                                        .said = post->said})));
        row->in[i].value = post->value;
        row->in[i].place = 0;
    }
    return true;
}

bool sim_board_lets(struct sim *sim, struct process *process)
{
    struct row *row = &process->rows.items[0];
    if (process->old)
        remove_silently(process);
    if (!process->rows.count)
        return false;
    if (!row->skip && !has_come(sim, process, row)) {
        process->epoch++; /* the look that was planned is void */
        sim_process_later(sim, process, 1000 + sim_below(sim, 200000), sim_process_execute);
        return false;
    }
    if (row->skip) {
        if (process->host->carrying) { /* what it is being sent comes before any answer to this */
            process->epoch++;
            sim_process_later(sim, process, 0, sim_process_execute);
        } else {
            say_skipped(sim, process);
        }
        return false;
    }
    sum_up(row);
    return true;
}

/* -- Dying ---------------------------------------------------------------------------------------
 */

static void forget_crash(struct host *host, uint64_t attempt)
{
    size_t kept = 0;
    for (size_t i = 0; i < host->crashes.count; i++)
        if (host->crashes.items[i].attempt != attempt)
            host->crashes.items[kept++] = host->crashes.items[i];
    host->crashes.count = kept;
}

static void note_crash(struct host *host, uint64_t attempt, uint64_t in)
{
    forget_crash(host, attempt);
    if (in)
        GW_MUST(gw_array_push(&host->crashes, ((struct sim_crash){attempt, in})));
}

/* Most runners say what they execute; what crashes there is that, and no other. */
void sim_board_died(const struct sim *sim, struct process *process)
{
    if (!process->runner || process->actor)
        return;
    const bool says = process->executing && process->rows.count &&
                      process->rows.items[0].rank == GW_RANK_NONE &&
                      sim_hash(sim->seed, process->pid) % 4 != 0;
    process->began = says ? process->rows.items[0].attempt : 0;
    for (size_t i = 0; i < process->unsaid.count; i++)
        note_crash(process->host, process->unsaid.items[i].attempt, process->began);
    for (size_t i = 0; i < process->rows.count; i++)
        note_crash(process->host, process->rows.items[i].attempt, process->began);
}

static void crashed(struct sim *sim, struct host *host, uint64_t attempt)
{
    for (size_t i = 0; i < host->crashes.count; i++) {
        const struct sim_crash *crash = &host->crashes.items[i];
        SIM_CHECK(sim, crash->attempt != attempt || crash->in == attempt,
                  "attempt %llx is charged with a crash in %llx", (unsigned long long)attempt,
                  (unsigned long long)crash->in);
    }
    forget_crash(host, attempt);
}

/* -- Telling -------------------------------------------------------------------------------------
 */

void sim_board_said(struct host *host, uint64_t place)
{
    struct sim_post *post = place ? find(host, place) : NULL;
    if (!place)
        return;
    if (post && post->place == place)
        post->said = true;
    GW_ARRAY_EACH (&host->taken, post)
        post->said = post->said || post->place == place;
}

void sim_board_forget(struct host *host, uint64_t attempt)
{
    size_t kept = 0;
    for (size_t i = 0; i < host->taken.count; i++)
        if (host->taken.items[i].attempt != attempt)
            host->taken.items[kept++] = host->taken.items[i];
    host->taken.count = kept;
}

static void told(struct sim *sim, struct host *host, uint64_t attempt)
{
    struct sim_post *post;
    GW_ARRAY_EACH (&host->taken, post)
        SIM_CHECK(sim, post->attempt != attempt || post->said,
                  "host %u tells how attempt %llx ended, and has not heard of what that took from "
                  "place %llu of the board",
                  host->number, (unsigned long long)attempt, (unsigned long long)post->place);
    sim_board_forget(host, attempt);
}

void sim_board_stepped(struct sim *sim, struct host *host, const struct gw_effects *effects)
{
    for (size_t i = 0; i < effects->list.count; i++) {
        const struct gw_message *message = &effects->list.items[i].message;
        if (effects->list.items[i].type != GW_EFFECT_SEND)
            continue;
        if (message->type == GW_MESSAGE_ended && message->ended.outcome == GW_OUTCOME_CRASHED)
            crashed(sim, host, message->ended.attempt);
        if (message->type == GW_MESSAGE_ended && message->ended.outcome == GW_OUTCOME_FAILED)
            told(sim, host, message->ended.attempt);
        else if (message->type == GW_MESSAGE_finished)
            for (uint32_t k = 0; k < message->finished.attempt.count; k++)
                told(sim, host, gw_col64_at(message->finished.attempt, k));
        else if (message->type == GW_MESSAGE_failures)
            for (uint32_t k = 0; k < message->failures.attempt.count; k++)
                told(sim, host, gw_col64_at(message->failures.attempt, k));
    }
}

/* -- Putting -------------------------------------------------------------------------------------
 */

/* One in two tells soon what it has put there; the others may be far behind when they die. */
static bool tells_late(const struct sim *sim, const struct process *process)
{
    return sim_hash(sim->seed, process->pid) % 2;
}

static void say(struct sim *sim, struct process *process)
{
    if (process->alive && process->unsaid.count && sim_chance(sim, 20))
        sim_process_die(sim, process);
    else if (process->alive)
        sim_actor_say(sim, process);
}

bool sim_board_done(struct sim *sim, struct process *process)
{
    struct row row = process->rows.items[0];
    struct host *host = process->host;
    uint64_t pid = process->pid;
    if (!process->runner || row.rank != GW_RANK_NONE || (!row.place && !process->unsaid.count))
        return false;
    row.work->ended_well++; /* from here on others take it */
    put(host, &row, row.work->bytes <= GW_BOARD_VALUE_MAX);
    sim_nested_end(sim, process);
    GW_MUST(gw_array_push(&process->unsaid, row));
    sim_process_pop(process);
    process->epoch++;
    if (process->unsaid.count >= UNSAID_MAX || sim_chance(sim, tells_late(sim, process) ? 2 : 60))
        sim_actor_say(sim, process);
    else if (process->unsaid.count == 1)
        sim_process_anyhow(sim, process, sim_below(sim, (tells_late(sim, process) ? 100 : 20) * MS),
                           say);
    if (host->core && (process = sim_process_find(host, pid)) && process->alive)
        sim_process_execute(sim, process);
    return true;
}
