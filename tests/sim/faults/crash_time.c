/* When the scheduler dies: at a random time, or directly after an event whose effect must outlive
 * it. */
#include "tests/sim/faults/crash_time.h"

enum { CRASHES_PERCENT = 25, SAVED_PERCENT = 80 };

struct sim_scheduler_crash *sim_crash_state(struct sim *sim)
{
    if (!sim->crash_state)
        GW_MUST_PTR(sim->crash_state = calloc(1, sizeof *sim->crash_state));
    return sim->crash_state;
}

bool sim_crash_down(const struct sim *sim)
{
    return sim->crash_state && sim->crash_state->down;
}

void sim_crash_soon(struct sim *sim, uint64_t in_ns)
{
    sim_plan(sim, in_ns, sim->crash_now, NULL);
}

/* Uses a hash, so that the random numbers of other seeds do not change. */
bool sim_crash_planned(const struct sim *sim)
{
    return sim_hash(sim->seed, 330) % 100 < CRASHES_PERCENT || GW_PLANTED(330) || GW_PLANTED(370) ||
           GW_PLANTED(371) || GW_PLANTED(470) || GW_PLANTED(471) || GW_PLANTED(480) ||
           GW_PLANTED(561) || GW_PLANTED(562) || GW_PLANTED(563);
}

bool sim_crash_rests(const struct sim *sim)
{
    return sim_crash_planned(sim) && sim_hash(sim->seed, 334) % 8 == 0;
}

void sim_crash_on_saved(struct sim *sim)
{
    uint64_t chance = sim_hash(sim->seed, 331);
    struct sim_scheduler_crash *crash_state = sim_crash_state(sim);
    if (crash_state->on_saved || chance % 100 >= SAVED_PERCENT)
        return;
    crash_state->on_saved = true;
    sim_plan(sim, sim_hash(chance, 1) % (20 * MS), sim->crash, NULL);
}

void sim_crash_on_stop(struct sim *sim)
{
    struct sim_scheduler_crash *crash_state = sim_crash_state(sim);
    if (crash_state->stop != STOP_NONE)
        return;
    crash_state->stop = sim_hash(sim->seed, 338) % 2 ? STOP_HEARD : STOP_ASKED;
    if (crash_state->stop == STOP_HEARD)
        return;
    for (size_t i = 0; i < sim->conns.count; i++) {
        struct conn *conn = sim->conns.items[i];
        if (conn->ends[0].side == SIDE_SCHED && conn->ends[1].side == SIDE_HOST)
            sim_hold(sim, conn, sim->now_ns + 100 * MS);
    }
}

void sim_crash_on_stopped(struct sim *sim, bool returned)
{
    struct sim_scheduler_crash *crash_state = sim_crash_state(sim);
    if (crash_state->stop != (returned ? STOP_HEARD : STOP_ASKED))
        return;
    crash_state->stop = STOP_TOLD;
    sim_crash_soon(sim, sim_hash(sim->seed, 335) % (2 * MS));
}
