/* Gangs as their ranks see them: which ranks are ready, have started, and are in a collective.
 *
 * No rank starts before all ranks are ready, or twice in one attempt. A rank that has ended is in
 * no collective. */
#include "tests/sim/faults/ask.h"
#include "tests/sim/faults/crash_time.h"
#include "tests/sim/faults/leave.h"

enum { ATTEMPTS_MAX = 500 }; /* more than twice the sum of all budgets */

struct gang *sim_gang_of(struct sim *sim, const struct row *row)
{
    for (size_t i = 0; i < sim->gangs.count; i++)
        if (sim->gangs.items[i]->attempt == row->attempt)
            return sim->gangs.items[i];
    struct gang *gang = calloc(1, sizeof *gang);
    GW_MUST_PTR(gang);
    gang->attempt = row->attempt;
    gang->work = row->work;
    gang->world = sim_elastic_world(sim, row);
    gang->number = row->work->gangs++;
    row->work->pausing = false;
    gang->life = sim->life;
    SIM_CHECK(sim, gang->number < ATTEMPTS_MAX, "gang %llu is started again and again",
              (unsigned long long)row->work->id);
    GW_MUST(gw_array_push(&sim->gangs, gang));
    return gang;
}

void sim_gangs_free(struct sim *sim)
{
    for (size_t i = 0; i < sim->gangs.count; i++)
        free(sim->gangs.items[i]);
    gw_array_deinit(&sim->gangs);
    gw_map_deinit(&sim->worlds);
}

void sim_gang_told(struct process *process, const struct gw_msg_gang *told)
{
    process->gang = told->attempt;
    process->checkpoint = told->checkpoint;
    process->checkpoint_lost = told->checkpoint_lost;
    process->transferred = told->transfer_worker != 0;
    process->spans = told->groups > 1;
}

void sim_gang_leave(struct sim *sim, const struct process *process)
{
    for (size_t i = 0; i < sim->gangs.count; i++)
        for (uint32_t k = 0; k < RANKS_MAX; k++)
            if (sim->gangs.items[i]->in[k] == process)
                sim->gangs.items[i]->in[k] = NULL;
}

/* The collectives of an attempt are aborted. Its ranks wait for SIGTERM. */
uint32_t sim_gang_abort(struct sim *sim, uint64_t attempt)
{
    for (size_t i = 0; i < sim->gangs.count; i++)
        if (sim->gangs.items[i]->attempt == attempt)
            memset(sim->gangs.items[i]->in, 0, sizeof sim->gangs.items[i]->in);
    return 0;
}

bool sim_gang_save(struct sim *sim, struct process *process)
{
    const struct row *row = &process->rows.items[0];
    if (row->rank != 0 || !process->runner || process->collective == 0 ||
        !sim_chance(sim, row->work->id % 2 ? 90 : 50))
        return true;
    struct gang *gang = sim_gang_of(sim, row);
    gang->saved = true;
    gang->home = process->host;
    gang->home_life = process->host->incarnation;
    sim_transfer_saved(process, row->attempt);
    sim_leave_saved(sim, process);
    struct gw_message message = {
        .type = GW_MESSAGE_checkpointed,
        .checkpointed = {row->attempt, row->rank, (int64_t)process->collective}};
    if (row->work->job->detached)
        sim_crash_on_saved(sim);
    return sim_process_say(sim, process, &message);
}

void sim_gang_asked(struct sim *sim, const struct process *process,
                    const struct gw_msg_control *control)
{
    const struct row *row = process->rows.count ? &process->rows.items[0] : NULL;
    if (!row || row->attempt != control->attempt)
        return;
    struct gang *gang = sim_gang_of(sim, row);
    gang->asked = control->command;
    if (control->command == SIM_PAUSE && gang->world < row->work->ranks && !row->work->job->paused)
        sim_fault(sim, FAULT_GROWS);
}

bool sim_gang_pause(struct sim *sim, struct process *process)
{
    const struct row *row = &process->rows.items[0];
    struct gw_message message = {.type = GW_MESSAGE_rank_paused,
                                 .rank_paused = {row->attempt, row->rank}};
    if (row->rank != 0)
        return true;
    sim_fault(sim, FAULT_PAUSED);
    return sim_process_say(sim, process, &message);
}

/* Returns true if the scheduler knows a checkpoint of the gang whose current attempt this is. */
static bool knows_checkpoint(struct sim *sim, const struct row *row)
{
    struct gw_value *arguments = gw_dict(), *tasks = NULL;
    int64_t attempt = 0;
    bool known = false;
    GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)row->work->job->promised)));
    if (gw_sched_query(sim->sched, "tasks", arguments, &tasks, NULL) == 0) {
        const struct gw_value *task = gw_value_at(tasks, row->work->row);
        known = gw_value_get_i64(gw_value_find(task, "attempt"), &attempt, NULL) == 0 &&
                (uint64_t)attempt == row->attempt && gw_value_find(task, "checkpoint_step");
    }
    gw_value_unref(tasks);
    gw_value_unref(arguments);
    return known;
}

/* Checks that a worker on the host of a checkpoint is not told that the checkpoint is lost. */
static void check_home(struct sim *sim, const struct row *row, const struct process *process,
                       const struct gang *saved)
{
    bool there = saved->home == process->host && saved->home_life == process->host->incarnation;
    SIM_CHECK(sim, !there || !process->checkpoint_lost || process->host->emptied,
              "rank %u of attempt %llx is where its checkpoint was saved, and told that it is lost",
              row->rank, (unsigned long long)row->attempt);
    if (process->checkpoint_lost)
        sim_fault(sim, FAULT_HOMELESS);
    else if (there && row->rank == 0)
        sim_fault(sim, FAULT_HOME);
}

/* Checks that the checkpoint was saved by rank 0 of this gang, and is not older than the one of the
 * last attempt. */
void sim_gang_resume(struct sim *sim, const struct row *row, const struct process *process)
{
    uint32_t from = 0;
    uint64_t checkpoint = process->checkpoint;
    for (size_t i = 0; i < sim->gangs.count && checkpoint; i++) {
        const struct gang *gang = sim->gangs.items[i];
        if (gang->attempt != checkpoint || !gang->saved || gang->work != row->work)
            continue;
        from = gang->number + 1;
        check_home(sim, row, process, gang);
    }
    SIM_CHECK(sim, !checkpoint || from, "attempt %llx goes on from what nobody saved",
              (unsigned long long)row->attempt);
    if (row->work->job
            ->pure) /* a task that runs for itself and not for its twins is a separate task */
        return;
    SIM_CHECK(sim, checkpoint || !knows_checkpoint(sim, row),
              "attempt %llx goes on from the start, and there is a checkpoint",
              (unsigned long long)row->attempt);
    if (row->rank != 0) /* only rank 0 is told whether the checkpoint is transferred */
        return;
    SIM_CHECK(sim, from >= row->work->resumed || process->transferred,
              "attempt %llx goes on from attempt %u's checkpoint, and not from %u's",
              (unsigned long long)row->attempt, from, row->work->resumed);
    row->work->resumed = from;
    if (from)
        sim_fault(sim, FAULT_RESUMED);
}

void sim_gang_went(struct sim *sim, const struct row *row)
{
    struct gang *gang = sim_gang_of(sim, row);
    for (uint32_t i = 0; i < gang->world; i++)
        SIM_CHECK(sim, gang->reported[i] || row->work->kind == GW_SPEC_COMMAND,
                  "rank %u of attempt %llx goes, but rank %u never stood", row->rank,
                  (unsigned long long)row->attempt, i);
    SIM_CHECK(sim, !gang->went[row->rank], "rank %u of attempt %llx goes twice", row->rank,
              (unsigned long long)row->attempt);
    gang->went[row->rank] = true;
    sim_ask_on_went(sim, row);
}
