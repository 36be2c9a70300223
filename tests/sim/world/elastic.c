/* Gangs that may have fewer ranks: how many ranks each attempt has, according to the messages to
 * its workers.
 *
 * No attempt may have fewer ranks than its gang allows, or more than all. The results of ranks
 * above the minimum depend on the last attempt, so no task uses them. */
#include "tests/sim/sim.h"

#include "tests/sim/planted.h"

void sim_elastic_shape(struct sim *sim, struct work *work)
{
    uint64_t lot = sim_hash(work->id, sim->seed);
    if (work->ranks < 2 || work->job->pure || (lot % 4 == 0 && !GW_PLANTED(260)))
        return;
    work->min_ranks = 1 + (uint32_t)(lot / 4 % (work->ranks - 1));
    work->full_size_timeout_ns = lot % 4 == 1 ? SECOND : 0;
    work->collectives += 5; /* so that resources become free while it runs */
    work->run_ns += 50 * MS;
}

uint32_t sim_work_least(const struct work *work)
{
    if (work->twin_of)
        return sim_work_least(work->twin_of);
    return work->min_ranks ? work->min_ranks : work->ranks ? work->ranks : 1;
}

void sim_elastic_told(struct sim *sim, const struct gw_msg_gang *gang)
{
    GW_MUST(gw_map_put(&sim->worlds, gang->attempt, gang->world));
}

uint32_t sim_elastic_world(struct sim *sim, const struct row *row)
{
    uint64_t world = 0;
    struct work *work = row->work;
    bool known = gw_map_get(&sim->worlds, row->attempt, &world);
    SIM_CHECK(sim, known, "a rank of attempt %llx, of which no worker was told",
              (unsigned long long)row->attempt);
    SIM_CHECK(sim, world <= work->ranks && world >= sim_work_least(work),
              "attempt %llx has %llu ranks: its gang has %u, and no fewer than %u",
              (unsigned long long)row->attempt, (unsigned long long)world, work->ranks,
              sim_work_least(work));
    if (world < work->ranks)
        sim_fault(sim, FAULT_SHRUNK);
    if (work->world && world > work->world)
        sim_fault(sim, FAULT_GROWN);
    work->world = (uint32_t)world;
    return (uint32_t)world;
}

bool sim_elastic_lacks(const struct work *work, uint32_t rank, uint32_t size)
{
    return size == 1 && rank >= sim_work_least(work);
}
