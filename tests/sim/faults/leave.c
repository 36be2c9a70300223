/* Workers that are told to end. Checks: the scheduler places nothing on such a worker after it has
 * heard of it; running tasks get their own grace period, and a checkpoint that they save in it
 * counts; the worker exits when the scheduler lets it, when there is no scheduler, when it is told
 * twice, or after a maximum time; the scheduler does not let it exit while it has the only copy of
 * a checkpoint that a gang needs and another worker could take it. */
#include "tests/sim/faults/leave.h"

#include "scheduler/core/lifecycle/checkpoint.h"
#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/checkpoint.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/task.h"
#include "scheduler/core/model/state.h"
#include "tests/sim/checks/limit.h"

enum { LEAVES = 4, AGAIN_PERCENT = 10, SAVED_PERCENT = 20 };

static bool is_registered(const struct host *host)
{
    return host->scheduler && host->scheduler->id == host->welcomed &&
           host->scheduler->ends[1].open;
}

static void on_leave(struct sim *sim, void *arg)
{
    struct host *host = arg;
    if (sim->healed || !host->core)
        return;
    sim_fault(sim, FAULT_LEAVES);
    host->leave.again = host->leave.told;
    host->leave.alone = host->leave.alone || !is_registered(host);
    host->leave.begins = !host->leave.told;
    host->leave.told = true;
    int rc = sim_host_step(
        sim, host, &(struct gw_event){.type = GW_EVENT_LEAVE, .text = "it was ended (SIGTERM)"});
    host->leave.begins = false;
    SIM_CHECK(sim, rc == 0, "a worker refuses to end");
    if (host->core && sim_hash(sim->now_ns ^ sim->seed, 740) % 100 < AGAIN_PERCENT)
        sim_plan(sim, 20 * MS, on_leave, host);
}

/* Uses a hash, so that the random numbers of the rest of the world do not change. */
void sim_leave_plan(struct sim *sim)
{
    if (sim->seed % 8 != 5)
        return;
    for (uint32_t i = 0; i < LEAVES; i++) {
        const uint64_t at_ns = 300 * MS + sim_hash(sim->seed, 741 + i) % (4 * SECOND);
        sim_plan(sim, at_ns, on_leave, &sim->hosts[sim_hash(sim->seed, 751 + i) % sim->host_count]);
    }
}

/* A worker is told to end when it has a checkpoint that must be copied. */
void sim_leave_saved(struct sim *sim, const struct process *process)
{
    struct host *host = process->host;
    if (process->kill_ns)
        sim_fault(sim, FAULT_SAVED_LAST);
    if (sim->seed % 8 != 5 || process->kill_ns)
        return;
    const uint64_t chance = sim_hash(sim->seed ^ process->rows.items[0].attempt, 761);
    if (!host->leave.told && chance % 100 < SAVED_PERCENT)
        sim_plan(sim, chance % (5 * MS), on_leave, host);
}

static void on_save(struct sim *sim, struct process *process)
{
    if (process->alive && process->executing && process->rows.count)
        (void)sim_gang_save(sim, process);
}

/* Checks that every running task gets its own grace period, in which a rank may still save. */
void sim_leave_reaped(struct sim *sim, struct process *process, const struct gw_msg_reap *reap)
{
    const struct leave *leave = &process->host->leave;
    if (!leave->begins || !process->executing || process->kill_ns || !process->rows.count)
        return;
    SIM_CHECK(sim, reap->grace_ns == SIM_GRACE_NS,
              "a task of host %u, which is told to end, has %.3f s for that", process->host->number,
              (double)reap->grace_ns / 1e9);
    if (process->rows.items[0].rank == 0)
        sim_process_later(sim, process, 1000, on_save);
}

void sim_leave_says(struct sim *sim, struct host *host, const struct gw_message *message)
{
    if (message->type == GW_MESSAGE_leaving && message->leaving.empty)
        host->leave.until_ns = sim->now_ns + GW_LEAVE_NS;
}

static void on_exit_now(struct sim *sim, void *arg)
{
    struct host *host = arg;
    if (!host->core || !host->leave.exits)
        return;
    struct gw_effect last = {
        .message = {.type = GW_MESSAGE_refuse, .refuse = {0, "it was ended (SIGTERM)"}}};
    if (is_registered(host)) {
        int end;
        struct conn *conn = sim_conn_of(sim, SIDE_SCHED, NULL, host->scheduler->ends[0].peer, &end);
        gw_node_core_stamp(host->core, &last.message);
        if (conn)
            sim_send(sim, conn, 1 - end, &last);
    }
    sim_host_kill(sim, host);
}

void sim_leave_exit(struct sim *sim, struct host *host)
{
    const struct leave *leave = &host->leave;
    SIM_CHECK(sim, leave->told, "a worker exits by itself");
    SIM_CHECK(sim,
              leave->let || leave->again || leave->alone || !is_registered(host) ||
                  (leave->until_ns && sim->now_ns >= leave->until_ns),
              "host %u goes though nobody let it go", host->number);
    if (leave->let)
        sim_fault(sim, FAULT_LET_LEAVE);
    host->leave.exits = true;
    sim_plan(sim, 0, on_exit_now, host); /* none of its tasks run; only drivers wait for it */
}

void sim_leave_heard(struct sim *sim, const struct host *host, const struct gw_message *message)
{
    if (host && message->type == GW_MESSAGE_leaving && is_registered(host) &&
        sim_host_is_heard(sim, host, message))
        sim->hosts[host->number].leave.heard = host->scheduler->id;
}

void sim_leave_taken(struct host *host, const struct gw_message *message)
{
    if (message->type == GW_MESSAGE_shutdown)
        host->leave.let = true;
}

void sim_leave_transferred(struct sim *sim, const struct host *source, uint64_t attempt, int code)
{
    if (code == GW_ELOST || (code < 0 && !(source && source->leave.told)))
        return;
    if (code == 0 && source && source->leave.told)
        sim_fault(sim, FAULT_CHECKPOINT_TAKEN);
    GW_MUST(gw_map_put(&sim->spread, attempt, 1));
}

/* Returns true if another worker could take the checkpoint. */
static bool is_anybody_else(const struct sim *sim, const struct host *host)
{
    for (size_t i = 0; i < sim->sched->workers.count; i++) {
        const struct gw_worker *worker = sim->sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY && !worker->leaves &&
            worker->incarnation != host->incarnation)
            return true;
    }
    return false;
}

/* Returns true if this is the checkpoint from which its gang would continue, and this host saved
 * it. */
static bool is_wanted(const struct sim *sim, const struct host *host, const struct gang *gang)
{
    const struct gw_job *job = gw_sched_job_find(sim->sched, gang->work->job->id);
    const uint32_t row = gang->work->row;
    if (!job || row >= job->tasks.count || gw_sched_task_final(job, row))
        return false;
    const struct gw_checkpointed *record = gw_sched_checkpoint_of(job, row);
    return record && record->attempt == gang->attempt && !record->shared && !record->home.gone &&
           record->home.incarnation == host->incarnation &&
           strcmp(record->home.host, host->name) == 0;
}

static void check_let(struct sim *sim, const struct host *host)
{
    for (size_t i = 0; i < host->saved.count; i++) {
        const struct sim_saved *saved = &host->saved.items[i];
        if (saved->copy || saved->gone || gw_map_get(&sim->spread, saved->attempt, NULL))
            continue;
        for (size_t k = 0; k < sim->gangs.count; k++) {
            const struct gang *gang = sim->gangs.items[k];
            SIM_CHECK(sim,
                      gang->attempt != saved->attempt || !is_wanted(sim, host, gang) ||
                          !is_anybody_else(sim, host),
                      "host %u is let go with the only checkpoint of attempt %llx", host->number,
                      (unsigned long long)saved->attempt);
        }
    }
}

/* Returns true for a call of an actor: calls go to the worker of their actor. The client may not
 * know the number of the job yet. */
static bool is_call(const struct sim *sim, const struct gw_msg_assign *assign, uint32_t i)
{
    const struct gw_job *job = gw_sched_job_find(sim->sched, gw_col64_at(assign->job, i));
    return job && job->calls_of;
}

void sim_leave_told(struct sim *sim, const struct conn *conn, const struct gw_message *message)
{
    const struct host *host = conn->ends[1].host;
    if (!host || !host->core || host->leave.heard != conn->id)
        return;
    if (message->type == GW_MESSAGE_shutdown && host->scheduler == conn)
        check_let(sim, host);
    for (uint32_t i = 0; message->type == GW_MESSAGE_assign && i < message->assign.attempt.count;
         i++)
        SIM_CHECK(sim, is_call(sim, &message->assign, i),
                  "attempt %llx is placed at host %u, which was told to end",
                  (unsigned long long)gw_col64_at(message->assign.attempt, i), host->number);
}
