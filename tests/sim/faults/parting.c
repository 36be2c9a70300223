/* Two hosts that cannot reach each other, although the scheduler reaches both. A rank on one host
 * fails because it cannot reach rank 0 on the other. This does not count against any budget, and
 * while the scheduler remembers it, no gang may have ranks on both hosts. */
#include "tests/sim/faults/parting.h"

#include "scheduler/core/model/state.h"
#include "tests/sim/fault.h"

#define PARTING_NS (60 * SECOND) /* the first time; longer after that */
enum { CUTS_MAX = 3, PAIR = 3 /* bits of hosts 0 and 1 */ };

struct sim_parting {
    struct gw_map hosts; /* attempt of a gang -> bit mask of hosts */
    uint64_t until_ns;
    uint32_t cuts, failures;
};

static struct sim_parting *parting_of(struct sim *sim)
{
    if (!sim->parting)
        GW_MUST_PTR(sim->parting = calloc(1, sizeof *sim->parting));
    return sim->parting;
}

static const struct host *host_of_leader(const struct sim *sim, uint64_t attempt)
{
    for (uint32_t i = 0; i < sim->host_count; i++)
        for (size_t k = 0; k < sim->hosts[i].processes.count; k++) {
            const struct process *process = sim->hosts[i].processes.items[k];
            if (process->alive && process->rows.count &&
                process->rows.items[0].attempt == attempt && process->rows.items[0].rank == 0)
                return &sim->hosts[i];
        }
    return NULL;
}

bool sim_parting_cuts(struct sim *sim, const struct process *process)
{
    const struct row *row = &process->rows.items[0];
    const struct host *leader = process->runner ? host_of_leader(sim, row->attempt) : NULL;
    if (!leader || leader == process->host || leader->number > 1 || process->host->number > 1 ||
        sim_hash(sim->seed, 357) % 4 || parting_of(sim)->cuts == CUTS_MAX)
        return false;
    sim->parting->cuts++;
    sim_fault(sim, FAULT_UNREACHED);
    return true;
}

void sim_parting_stepped(struct sim *sim)
{
    const struct gw_sched *sched = sim->sched;
    if (!sim->parting)
        return;
    const uint32_t failures = sched->partings.count ? sched->partings.items[0].failures : 0;
    if (failures > sim->parting->failures)
        sim->parting->until_ns = sim->now_ns + PARTING_NS;
    else if (failures <
             sim->parting->failures) /* the hosts reached each other, or this is another term */
        sim->parting->until_ns = 0;
    sim->parting->failures = failures;
}

void sim_parting_told(struct sim *sim, const struct host *host, const struct gw_message *message)
{
    const struct gw_msg_assign *assign = &message->assign;
    if (message->type != GW_MESSAGE_assign)
        return;
    for (uint32_t i = 0; i < assign->attempt.count && host && sim->parting; i++) {
        const uint64_t attempt = gw_col64_at(assign->attempt, i);
        uint64_t bits = 0;
        if (gw_col32_at(assign->rank, i) == GW_RANK_NONE)
            continue;
        (void)gw_map_get(&sim->parting->hosts, attempt, &bits);
        bits |= UINT64_C(1) << host->number;
        GW_MUST(gw_map_put(&sim->parting->hosts, attempt, bits));
        SIM_CHECK(sim, (bits & PAIR) != PAIR || sim->now_ns >= sim->parting->until_ns,
                  "attempt %llx has ranks at two hosts that could not reach each other just now",
                  (unsigned long long)attempt);
    }
}

void sim_parting_free(struct sim *sim)
{
    if (sim->parting)
        gw_map_deinit(&sim->parting->hosts);
    free(sim->parting);
    sim->parting = NULL;
}
