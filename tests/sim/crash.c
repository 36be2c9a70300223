/* The scheduler dies, and another begins with what was committed: what had been acknowledged is
 * there, what is detached ends, and nothing has a number that something else had. */
#include "tests/sim/crash.h"

#include "graph/base/planted.h"

enum { CRASHES_PERCENT = 25, AGAIN_PERCENT = 30, SAVED_PERCENT = 80 };

void sim_crash_check(struct sim *sim, const struct sim_job *job)
{
    for (size_t i = 0; i < sim->jobs.count; i++)
        SIM_CHECK(sim, sim->jobs.items[i] == job || sim->jobs.items[i]->promised != job->promised,
                  "two jobs are called %llu", (unsigned long long)job->promised);
}

/* What is under way to or from it is lost, and both sides notice some time. */
static void leave(struct sim *sim)
{
    for (size_t i = 0; i < sim->conns.count; i++) {
        struct conn *conn = sim->conns.items[i];
        if (conn->ends[0].side != SIDE_SCHED || !conn->ends[0].open)
            continue;
        sim_cut(sim, conn);
        conn->ends[0].open = false;
        conn->held_until_ns = 0; /* connecting is refused: this is no partition */
    }
    /* Leases end with it: who runs on with one may meet who has it by then, and a higher number. */
    for (uint32_t i = 0; i < sim->client_count; i++)
        sim->clients[i].leases = 0;
    for (size_t i = 0; i < sim->insiders.count; i++)
        sim->insiders.items[i]->leases = 0;
    for (size_t i = 0; i < sim->sched_tokens.count; i++)
        sim_token_drop(sim, sim->sched_tokens.items[i]);
    gw_array_clear(&sim->sched_tokens);
    gw_array_clear(&sim->tunnels);
    gw_sched_free(sim->sched);
    sim->sched = NULL;
}

/* What it wrote last is there, or not. */
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
            gw_sched_knows(sim->sched, sim->jobs.items[i]->promised))
            sim_fault(sim, FAULT_OUTLIVED);
}

/* A checkpoint of which the fact was lost is none. */
static void forget_checkpoints(struct sim *sim)
{
    for (size_t i = 0; i < sim->work.count; i++)
        sim->work.items[i]->resumed = 0;
}

static void on_crash(struct sim *sim, void *arg)
{
    (void)arg;
    if (sim->healed)
        return;
    sim_fault(sim, FAULT_SCHED_KILL);
    leave(sim);
    lose_facts(sim);
    forget_checkpoints(sim);
    sim->life++;
    sim->sched_tick_ns = UINT64_MAX;
    sim->sched = sim_sched_new();
    sim_sched_restore(sim, sim->sched, sim->facts.size);
    count_outlived(sim);
    sim_sched_start(sim, gw_sched_term(sim->sched) + 1);
    for (int i = 0; i < 2 && sim->client_count < CLIENTS_MAX; i++) {
        struct client *client = &sim->clients[sim->client_count];
        client->sim = sim;
        client->number = sim->client_count++;
        sim_client_start(sim, client);
    }
    if (sim_chance(sim, AGAIN_PERCENT))
        sim_plan(sim, sim_below(sim, 500 * MS), on_crash, NULL);
}

/* Not by the stream of chance that all else follows: the other seeds are as they were. */
void sim_crash_plan(struct sim *sim)
{
    uint64_t chance = sim_hash(sim->seed, 330);
    if (chance % 100 < CRASHES_PERCENT || GW_PLANTED(330))
        sim_plan(sim, 100 * MS + sim_hash(chance, 1) % (2 * SECOND), on_crash, NULL);
}

void sim_crash_on_saved(struct sim *sim)
{
    uint64_t chance = sim_hash(sim->seed, 331);
    if (sim->crashed_on_saved || chance % 100 >= SAVED_PERCENT)
        return;
    sim->crashed_on_saved = true;
    sim_plan(sim, sim_hash(chance, 1) % (20 * MS), on_crash, NULL);
}
