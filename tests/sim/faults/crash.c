/* The scheduler dies, and another one starts with the committed facts, immediately or later.
 * Checks: acknowledged changes still exist, detached jobs end, and no number is used twice.
 * Meanwhile workers are refused or hear nothing. A task that runs at a worker which has not
 * reconnected must not run elsewhere. */
#include "tests/sim/faults/crash.h"
#include "tests/sim/checks/charge.h"
#include "tests/sim/checks/ledger.h"
#include "tests/sim/checks/quarantine.h"
#include "tests/sim/checks/recovery.h"
#include "tests/sim/checks/reports.h"
#include "tests/sim/faults/ask.h"
#include "tests/sim/faults/crash_time.h"
#include "tests/sim/faults/drain.h"
#include "tests/sim/faults/worker_drain.h"

enum { AGAIN_PERCENT = 30, DOWN_PERCENT = 50, LATE_PERCENT = 15, WAITS_MAX = 800 };

void sim_crash_check(struct sim *sim, const struct sim_job *job)
{
    for (size_t i = 0; i < sim->jobs.count; i++)
        SIM_CHECK(sim, sim->jobs.items[i] == job || sim->jobs.items[i]->promised != job->promised,
                  "two jobs are called %llu", (unsigned long long)job->promised);
}

/* Messages to and from the scheduler are lost. Both sides notice this later. */
static void leave(struct sim *sim)
{
    for (size_t i = 0; i < sim->conns.count; i++) {
        struct conn *conn = sim->conns.items[i];
        if (conn->ends[0].side != SIDE_SCHED || !conn->ends[0].open)
            continue;
        sim_cut(sim, conn);
        conn->ends[0].open = false;
        conn->held_until_ns = 0; /* connecting is refused, so this is not a partition */
    }
    /* Leases end with the scheduler. A client that still uses one may overlap with its next holder,
     * who has a higher number. */
    for (uint32_t i = 0; i < sim->client_count; i++)
        sim->clients[i].leases = 0;
    for (size_t i = 0; i < sim->insiders.count; i++)
        sim->insiders.items[i]->leases = 0;
    for (size_t i = 0; i < sim->sched_tokens.count; i++)
        sim_token_drop(sim, sim->sched_tokens.items[i]);
    gw_array_clear(&sim->sched_tokens);
    gw_array_clear(&sim->tunnels);
    sim_ledger_free(sim);
    gw_sched_free(sim->sched);
    sim->sched = NULL;
}

/* The facts that were written last may be lost. */
static void lose_facts(struct sim *sim)
{
    if (sim->facts.size == sim->facts_committed)
        return;
    if (sim_chance(sim, 75)) {
        sim_fault(sim, FAULT_UNCOMMITTED);
        sim->facts.size = sim->facts_committed;
    }
    sim->facts_committed = sim->facts.size;
}

static void count_outlived(struct sim *sim)
{
    for (size_t i = 0; i < sim->jobs.count; i++)
        if (sim->jobs.items[i]->detached && sim->jobs.items[i]->promised &&
            gw_sched_job_knows(sim->sched, sim->jobs.items[i]->promised))
            sim_fault(sim, FAULT_OUTLIVED);
}

/* A checkpoint whose fact was lost does not exist. */
static void forget_checkpoints(struct sim *sim)
{
    for (size_t i = 0; i < sim->work.count; i++)
        sim->work.items[i]->resumed = 0;
}

/* -- What workers run meanwhile ------------------------------------------------------------------
 */

static void note_hosts(struct sim *sim)
{
    struct sim_scheduler_crash *crash_state = sim_crash_state(sim);
    crash_state->crash_ns = sim->now_ns;
    for (uint32_t i = 0; i < sim->host_count; i++) {
        const struct conn *conn = sim->hosts[i].scheduler;
        crash_state->disconnected[i] =
            crash_state->disconnected[i] ||
            (conn && conn->ends[0].open && conn->id == sim->hosts[i].welcomed);
        if (!sim_chance(sim, LATE_PERCENT))
            continue;
        sim_fault(sim, FAULT_LATE);
        crash_state->silent_ns[i] =
            sim->now_ns + 3 * SECOND + sim_below(sim, GW_LOST_NS + 7 * SECOND);
    }
}

static void on_again(struct sim *sim, void *arg)
{
    (void)sim;
    sim_host_connect(sim, arg);
}

void sim_crash_options(struct sim *sim, struct host *host, struct gw_node_options *options)
{
    host->orphan_ns = sim_hash(sim->seed, 480 + host->number) % 3 ? 0 : SECOND / 2;
    options->orphan_ns = host->orphan_ns;
    if (sim->crash_state)
        sim->crash_state->refused_ns[host->number] = 0;
}

static bool runs_on(const struct process *process)
{
    return process->alive && !process->kill_ns && (process->executing || process->actor);
}

/* A worker that is refused for a long time ends its tasks. */
static void check_orphans(struct sim *sim, const struct host *host)
{
    uint64_t *since_ns = &sim->crash_state->refused_ns[host->number];
    if (!*since_ns)
        *since_ns = sim->now_ns;
    if (!host->orphan_ns || sim->now_ns <= *since_ns + host->orphan_ns)
        return;
    sim_fault(sim, FAULT_ORPHANED);
    for (size_t i = 0; i < host->processes.count; i++)
        SIM_CHECK(sim, !runs_on(host->processes.items[i]),
                  "host %u runs on, and was refused for %.3f s", host->number,
                  (double)(sim->now_ns - *since_ns) / 1e9);
}

void sim_crash_silent(struct sim *sim, const struct conn *conn)
{
    const struct host *host = conn->ends[1].host;
    if (conn->ends[1].side != SIDE_HOST || conn->cut || host->scheduler != conn ||
        host->welcomed != conn->id)
        return;
    for (size_t i = 0; i < host->processes.count; i++) {
        SIM_CHECK(sim, !runs_on(host->processes.items[i]),
                  "host %u is given up, and still runs something", host->number);
        sim_fault(sim, FAULT_FENCED);
    }
}

bool sim_crash_refuses(struct sim *sim, struct host *host)
{
    const struct sim_scheduler_crash *crash_state = sim->crash_state;
    if (!crash_state)
        return false;
    if (sim->now_ns < crash_state->silent_ns[host->number]) {
        sim_plan(sim, crash_state->silent_ns[host->number] - sim->now_ns, on_again, host);
        return true;
    }
    if (!crash_state->down)
        return false;
    check_orphans(sim, host);
    (void)sim_host_step(
        sim, host,
        &(struct gw_event){.type = GW_EVENT_REFUSED, .number = sim->now_ns - sim_below(sim, MS)});
    sim_host_connect(sim, host);
    return true;
}

static bool was_assigned_before(struct sim *sim, uint64_t attempt)
{
    uint64_t at_ns;
    return gw_map_get(&sim->assigned, attempt, &at_ns) && at_ns < sim->crash_state->crash_ns;
}

/* Returns true if the scheduler reports the task in this state, with this attempt (0: any). */
static bool is_in(struct sim *sim, struct claim claim, const char *wanted)
{
    struct gw_value *arguments = gw_dict(), *tasks = NULL;
    int64_t current = 0;
    const char *state = "";
    GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)claim.job)));
    GW_MUST(gw_dict_set(arguments, "index",
                        gw_i64(claim.index))); /* a range may have no row for a task */
    if (gw_sched_query(sim->sched, "tasks", arguments, &tasks, NULL) == 0) {
        const struct gw_value *task = gw_value_at(tasks, 0);
        if (task && gw_value_get_i64(gw_value_find(task, "attempt"), &current, NULL) == 0)
            (void)gw_value_get_str(gw_value_find(task, "state"), &state, NULL);
    }
    bool is = (!claim.attempt || (uint64_t)current == claim.attempt) && strcmp(state, wanted) == 0;
    gw_value_unref(tasks);
    gw_value_unref(arguments);
    return is;
}

/* If an ordinary task runs at this worker and the scheduler waits for this worker, the scheduler
 * must take the attempt over. Exception: its GPUs may be assigned to other tasks by now. */
void sim_crash_claims(struct sim *sim, const struct host *host, const struct gw_message *message)
{
    const struct gw_msg_registration *registration = &message->registration;
    if (!sim->crash_state)
        return;
    gw_array_clear(&sim->crash_state->claims);
    if (!host->scheduler || host->scheduler->id != host->welcomed ||
        !sim_host_is_heard(sim, host, message) ||
        sim->crash_state->registered[host->number] == host->scheduler->id) /* a duplicate */
        return;
    sim->crash_state->registered[host->number] = host->scheduler->id;
    sim_recovery_says(sim, host, registration);
    for (uint32_t i = 0; i < registration->attempt.count; i++) {
        struct claim claim = {gw_col64_at(registration->attempt_job, i), 0,
                              gw_col32_at(registration->attempt_index, i)};
        bool due = gw_col32_at(registration->attempt_claim, i) == GW_CLAIM_RUNS &&
                   gw_col32_at(registration->attempt_rank, i) == GW_RANK_NONE &&
                   gw_col32_at(registration->attempt_gpu_count, i) == 0 &&
                   was_assigned_before(sim, gw_col64_at(registration->attempt, i)) &&
                   !sim_charge_decided(sim, gw_col64_at(registration->attempt, i)) &&
                   is_in(sim, claim, "ready");
        claim.attempt = gw_col64_at(registration->attempt, i);
        if (due)
            GW_MUST(gw_array_push(&sim->crash_state->claims, claim));
    }
}

void sim_crash_claimed(struct sim *sim, const struct host *host, const struct gw_message *message)
{
    const struct gw_msg_registration *registration = &message->registration;
    if (message->type != GW_MESSAGE_registration)
        return;
    sim_recovery_said(sim, host);
    if (!sim->crash_state)
        return;
    sim->crash_state->disconnected[host->number] = false;
    sim->crash_state->refused_ns[host->number] = 0;
    for (uint32_t i = 0; i < registration->attempt.count; i++) {
        uint32_t kind = gw_col32_at(registration->attempt_claim, i);
        const struct claim claim = {gw_col64_at(registration->attempt_job, i),
                                    gw_col64_at(registration->attempt, i),
                                    gw_col32_at(registration->attempt_index, i)};
        /* The claim of a task that waits for dependencies may be taken over later. */
        const bool waits = is_in(sim, (struct claim){claim.job, 0, claim.index}, "waiting");
        if (!waits && !is_in(sim, claim, "placed"))
            continue;
        sim_charge_adopted(sim, claim.job, claim.index, claim.attempt);
        if (!waits && kind != GW_CLAIM_WAITS)
            sim_fault(sim, kind == GW_CLAIM_ENDED ? FAULT_ENDED_ORPHANED : FAULT_ADOPTED);
    }
    for (size_t i = 0; i < sim->crash_state->claims.count; i++)
        SIM_CHECK(sim, is_in(sim, sim->crash_state->claims.items[i], "placed"),
                  "task %u of job %llu runs on host %u, waits, and is not taken over",
                  sim->crash_state->claims.items[i].index,
                  (unsigned long long)sim->crash_state->claims.items[i].job, host->number);
}

void sim_crash_begins(struct sim *sim, const struct process *process)
{
    const struct row *row = &process->rows.items[0];
    if (!sim->crash_state || !row->work->job->detached || was_assigned_before(sim, row->attempt))
        return;
    for (uint32_t i = 0; i < sim->host_count; i++)
        for (size_t k = 0; k < sim->hosts[i].processes.count && sim->crash_state->disconnected[i];
             k++) {
            const struct process *other = sim->hosts[i].processes.items[k];
            SIM_CHECK(sim,
                      !other->alive || !other->executing || other->kill_ns || !other->rows.count ||
                          other->rows.items[0].work != row->work ||
                          !was_assigned_before(sim, other->rows.items[0].attempt),
                      "task %llu begins while host %u, which has not come back, still runs it",
                      (unsigned long long)row->work->id, i);
        }
}

/* -- Dying, and beginning again ------------------------------------------------------------------
 */

static void begin_again(struct sim *sim, void *arg)
{
    (void)arg;
    sim->crash_state->down = false;
    count_outlived(sim);
    sim_sched_start(sim, gw_sched_term(sim->sched) + 1);
    sim_recovery_on_begun(sim);
    for (int i = 0; i < 2 && sim->client_count < CLIENTS_MAX; i++) {
        struct client *client = &sim->clients[sim->client_count];
        client->sim = sim;
        client->number = sim->client_count++;
        sim_client_start(sim, client);
    }
    if (sim_chance(sim, AGAIN_PERCENT))
        sim_plan(sim, sim_below(sim, 500 * MS), sim_crash_perhaps, NULL);
}

/* Returns true if a gang (or an ordinary task) runs that must outlive the scheduler. */
static bool something_runs(const struct sim *sim, bool gang)
{
    for (uint32_t i = 0; i < sim->host_count; i++)
        for (size_t k = 0; k < sim->hosts[i].processes.count; k++) {
            const struct process *process = sim->hosts[i].processes.items[k];
            if (process->alive && process->executing && process->rows.count &&
                process->rows.items[0].work->job->detached &&
                gang == (process->rows.items[0].rank != GW_RANK_NONE))
                return true;
        }
    return false;
}

/* In most seeds the scheduler dies when there is an attempt or a result that the next one can take
 * over, if this happens soon. */
static bool waits_for_work(struct sim *sim)
{
    uint64_t kind = sim_hash(sim->seed, 332) % 6;
    bool results = sim_hash(sim->seed, 333) % 4 == 0;
    if (kind == 0 || GW_PLANTED(330) || sim_crash_state(sim)->patience == WAITS_MAX ||
        (results ? sim_recovery_lies(sim) : something_runs(sim, kind <= 3)))
        return false;
    sim->crash_state->patience++;
    sim_plan(sim, 2 * MS, sim_crash_perhaps, NULL);
    return true;
}

static void on_goes_on(struct sim *sim, struct process *process)
{
    sim_process_go_on(sim, process, (int32_t)process->rows.items[0].work->started - 1);
}

/* The ordinary task that runs takes much longer than planned. */
static void lengthen(struct sim *sim, struct process *process)
{
    const struct row *row = process->rows.count ? &process->rows.items[0] : NULL;
    if (!row || !process->executing || !process->alive || process->kill_ns || process->inside ||
        process->actor || row->rank != GW_RANK_NONE || row->work->hangs || row->work->calls)
        return;
    process->epoch++;
    sim_process_later(sim, process, 2 * SECOND + sim_hash(sim->seed, process->pid) % (6 * SECOND),
                      on_goes_on);
}

/* In some seeds the scheduler dies shortly after workers with processes on their GPUs were lost.
 * Other workers that offer the same GPUs must not get them in the next term either. */
static bool loses_gpus(struct sim *sim)
{
    struct sim_scheduler_crash *crash_state = sim_crash_state(sim);
    bool some = false;
    if (crash_state->rested || (sim_hash(sim->seed, 334) % 4))
        return false;
    for (uint32_t i = 0; i < sim->host_count; i++)
        for (size_t k = 0; k < sim->hosts[i].processes.count && sim->hosts[i].scheduler; k++) {
            if (!sim->hosts[i].processes.items[k]->gpus)
                continue;
            lengthen(sim, sim->hosts[i].processes.items[k]);
            crash_state->silent_ns[i] =
                sim->now_ns + 2 * SECOND + sim_hash(sim->seed, i) % (8 * SECOND);
            sim_cut(sim, sim->hosts[i].scheduler);
            some = true;
            break;
        }
    if (some)
        sim_plan(sim, 300 * MS, sim_crash_perhaps, NULL);
    crash_state->rested = some;
    return some;
}

static void crash(struct sim *sim)
{
    sim_fault(sim, FAULT_SCHED_KILL);
    note_hosts(sim);
    sim_recovery_on_crash(sim);
    leave(sim);
    lose_facts(sim);
    sim_drain_crashed(sim);
    sim_worker_drain_crashed(sim);
    sim_quarantine_crashed(sim);
    sim_charge_crashed(sim);
    sim_ask_crashed(sim);
    forget_checkpoints(sim);
    sim->life++;
    sim->sched_tick_ns = UINT64_MAX;
    sim->sched = sim_sched_new(sim);
    sim_sched_restore(sim, sim->sched, sim->facts.size);
    sim_recovery_on_restored(sim);
    sim_reports_restored(sim);
    sim->crash_state->down = sim_chance(sim, DOWN_PERCENT);
    if (sim->crash_state->down)
        sim_plan(sim, sim_below(sim, sim_chance(sim, 20) ? 14 * SECOND : 2 * SECOND), begin_again,
                 NULL);
    else
        begin_again(sim, NULL);
}

void sim_crash_perhaps(struct sim *sim, void *arg)
{
    (void)arg;
    if (!sim->healed && !sim_crash_down(sim) && !waits_for_work(sim) && !loses_gpus(sim))
        crash(sim);
}

void sim_crash_now(struct sim *sim, void *arg)
{
    (void)arg;
    if (!sim->healed && !sim_crash_down(sim))
        crash(sim);
}

void sim_crash_plan(struct sim *sim)
{
    uint64_t chance = sim_hash(sim->seed, 330);
    if (!sim_crash_planned(sim))
        return;
    sim_plan(sim, 100 * MS + sim_hash(chance, 1) % (2 * SECOND), sim_crash_perhaps, NULL);
}

void sim_crash_free(struct sim *sim)
{
    if (sim->crash_state)
        gw_array_deinit(&sim->crash_state->claims);
    free(sim->crash_state);
    sim->crash_state = NULL;
}
