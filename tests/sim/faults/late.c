/* Worlds of stencils: graphs of short tasks whose runners report results late, or die before they
 * report. Also rows that are skipped because their input was not made. */
#include "tests/sim/faults/late.h"
#include "tests/sim/world/nested.h"

enum { UNSAID_MAX = 12, COLUMNS_MIN = 4, COLUMNS_MAX = 9, STEPS = 16, WORLDS = 7 };

/* -- Worlds of stencils --------------------------------------------------------------------------
 */

bool sim_late_world(const struct sim *sim)
{
    return sim_hash(sim->seed, 620) % WORLDS == 0;
}

bool sim_late_wants(struct sim *sim)
{
    return sim_late_world(sim) && sim_chance(sim, 80);
}

struct sim_job *sim_late_job(struct sim *sim, struct client *client)
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

/* -- Skipping ------------------------------------------------------------------------------------
 */

static bool takes(const struct row *row, uint64_t attempt)
{
    for (uint32_t i = 0; i < row->take_count; i++)
        if (row->takes[i] == attempt)
            return true;
    return false;
}

void sim_late_skip(struct sim *sim, struct process *process, uint64_t attempt)
{
    size_t i = 0;
    while (i < process->rows.count) {
        const uint64_t behind = process->rows.items[i].attempt;
        if (!takes(&process->rows.items[i], attempt)) {
            i++;
            continue;
        }
        sim_fault(sim, FAULT_SKIP);
        memmove(process->rows.items + i, process->rows.items + i + 1,
                (--process->rows.count - i) * sizeof *process->rows.items);
        sim_late_skip(sim, process, behind); /* all of them come after it */
    }
}

/* -- Dying ---------------------------------------------------------------------------------------
 */

static void forget_crash(struct host *host, uint64_t attempt)
{
    size_t retained = 0;
    for (size_t i = 0; i < host->crashes.count; i++)
        if (host->crashes.items[i].attempt != attempt)
            host->crashes.items[retained++] = host->crashes.items[i];
    host->crashes.count = retained;
}

static void note_crash(struct host *host, uint64_t attempt, uint64_t in)
{
    forget_crash(host, attempt);
    if (in)
        GW_MUST(gw_array_push(&host->crashes, ((struct sim_crash){attempt, in})));
}

/* Most runners record which attempt they run. If they crash, only that attempt has crashed. For
 * other runners, the crash counts against the first attempt that was not reported. */
void sim_late_died(const struct sim *sim, struct process *process)
{
    if (!process->runner || process->actor)
        return;
    const bool says = process->executing && process->rows.count &&
                      process->rows.items[0].rank == GW_RANK_NONE &&
                      sim_hash(sim->seed, process->pid) % 4 != 0;
    process->began = says ? process->rows.items[0].attempt : 0;
    if (!says && process->unsaid.count)
        process->unsaid.items[0].work->deaths++;
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

void sim_late_stepped(struct sim *sim, struct host *host, const struct gw_effects *effects)
{
    for (size_t i = 0; i < effects->list.count; i++) {
        const struct gw_message *message = &effects->list.items[i].message;
        if (effects->list.items[i].type == GW_EFFECT_SEND && message->type == GW_MESSAGE_ended &&
            message->ended.outcome == GW_OUTCOME_CRASHED)
            crashed(sim, host, message->ended.attempt);
    }
}

/* -- Telling -------------------------------------------------------------------------------------
 */

/* Half of the runners report soon. The others may have many unreported results when they die. */
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

bool sim_late_done(struct sim *sim, struct process *process)
{
    struct row row = process->rows.items[0];
    struct host *host = process->host;
    uint64_t pid = process->pid;
    const bool gathers = sim_late_world(sim) && row.work->bytes < GW_MEMFILE_BYTES_MIN;
    if (!process->runner || row.rank != GW_RANK_NONE || (!gathers && !process->unsaid.count))
        return false;
    row.work->ended_well++; /* from now on later rows use its result */
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
