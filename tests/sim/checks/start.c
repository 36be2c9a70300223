/* Checks at the start of a task or a rank: no other task uses its slots; its named resources are
 * available; the values of its dependencies are right; and the backoff after a failure is over. */
#include "tests/sim/checks/start.h"

/* Checks that no slot is used twice. */
static void check_slots(struct sim *sim, const struct process *started)
{
    const struct host *host = started->host;
    uint32_t slots = 0;
    for (size_t i = 0; i < host->processes.count; i++) {
        const struct process *process = host->processes.items[i];
        if (process->actor)
            slots += process->actor->slots;
        else if (process->executing && process->rows.count && !process->blocked && !process->woke)
            slots += process->rows.items[0].work->slots;
    }
    SIM_CHECK(sim, slots <= host->slots, "host %u runs on %u slots and has %u", host->number, slots,
              host->slots);
    if (slots == host->slots && started->rows.count && !started->rows.items[0].work->calls &&
        started->rows.items[0].work->slots == 0)
        sim_fault(sim, FAULT_SLOTLESS);
}

/* Checks that the named resources and the declared memory of a rank are available and not used by
 * others. */
static void check_needs(struct sim *sim, const struct process *process)
{
    const struct host *host = process->host;
    struct work *work = process->rows.items[0].work;
    uint32_t licenses = 0, tapes = 0;
    for (size_t i = 0; i < host->processes.count; i++) {
        const struct process *other = host->processes.items[i];
        if (!other->executing || !other->rows.count)
            continue;
        licenses += other->rows.items[0].work->licenses;
        tapes += other->rows.items[0].work->tapes;
    }
    SIM_CHECK(sim, licenses <= host->licenses && tapes <= host->tapes,
              "host %u has %u licenses and %u tapes: %u and %u are in use", host->number,
              host->licenses, host->tapes, licenses, tapes);
    sim_disk_check_declared(sim, host);
    if (work->licenses || work->tapes)
        sim_fault(sim, FAULT_RESOURCES);
    bool there = strstr(work->on, host->worker_name) || strstr(work->on, host->name);
    SIM_CHECK(sim, !*work->on || work->prefers || there, "task %llu runs on %s, and not on %s",
              (unsigned long long)work->id, host->worker_name, work->on);
    if (*work->on && there)
        sim_fault(sim, FAULT_RESTRICTED);
}

/* Checks that a task that failed by itself waits for its backoff. Older attempts at lost workers
 * are excepted. */
static void check_backoff(struct sim *sim, struct work *work, uint64_t attempt)
{
    uint64_t assigned_ns;
    if (!work->backoff_ns || !work->failed_ns ||
        !gw_map_get(&sim->assigned, attempt, &assigned_ns) || assigned_ns < work->failed_ns)
        return;
    bool heard = false, retrying = sim->retried_ns >= work->failed_ns;
    for (uint32_t i = 0; i < sim->client_count; i++)
        retrying = retrying || sim->clients[i].retrying.count > 0;
    for (size_t i = 0; i < sim->conns.count; i++) {
        const struct conn *conn = sim->conns.items[i];
        heard = heard || (conn->id == work->failed_conn && !conn->cut && conn->ends[0].open &&
                          conn->ends[1].open);
    }
    if (!heard || retrying || work->ranks || work->cancelled)
        return;
    SIM_CHECK(sim, sim->now_ns >= work->failed_ns + work->backoff_ns,
              "task %llu is tried again %llu ns after it failed, and should wait %llu",
              (unsigned long long)work->id, (unsigned long long)(sim->now_ns - work->failed_ns),
              (unsigned long long)work->backoff_ns);
    sim_fault(sim, FAULT_BACKOFF);
    work->failed_ns = 0;
}

/* Checks that the dependencies have ended and that the inputs are their values. */
static void check_inputs(struct sim *sim, const struct process *process)
{
    const struct row *row = &process->rows.items[0];
    for (uint32_t i = 0; i < row->work->dep_count; i++) {
        const struct work *on = row->work->deps[i].on;
        on = on->twin_of ? on->twin_of : on;
        SIM_CHECK(sim, on->ended_well >= sim_work_least(on),
                  "task %llu starts before task %llu ended", (unsigned long long)row->work->id,
                  (unsigned long long)on->id);
    }
    if (process->runner)
        SIM_CHECK(sim, row->inputs == sim_work_inputs(row->work),
                  "task %llu is given the wrong inputs", (unsigned long long)row->work->id);
}

void sim_start_check(struct sim *sim, const struct process *process)
{
    const struct row *row = &process->rows.items[0];
    check_slots(sim, process);
    check_inputs(sim, process);
    check_needs(sim, process);
    check_backoff(sim, row->work, row->attempt);
}
