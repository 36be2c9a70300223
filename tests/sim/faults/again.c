/* Counts placements. A retried task may fail because of a dependency only if one of its
 * dependencies was placed again since. */
#include "tests/sim/faults/again.h"

#include "tests/sim/checks/limit.h"

struct again {
    struct gw_map placed; /* work id -> number of placements */
    struct gw_map failed; /* work id -> number of placements of its dependencies when it failed
                             because of them */
};

static struct again *again_of(struct sim *sim)
{
    if (!sim->again)
        GW_MUST_PTR(sim->again = calloc(1, sizeof *sim->again));
    return sim->again;
}

static uint64_t placed(const struct sim *sim, const struct work *work)
{
    uint64_t times = 0;
    (void)gw_map_get(&sim->again->placed, work->id, &times);
    return times;
}

/* -- Retries -------------------------------------------------------------------------------------
 */

/* The dependencies of a task: how often they were placed, and whether the task may fail without a
 * new placement. */
struct needs {
    struct gw_map seen;
    uint64_t placed;
    bool otherwise;
};

static void add_needs(struct sim *sim, struct needs *needs, const struct work *work)
{
    if (gw_map_get(&needs->seen, work->id, NULL))
        return;
    GW_MUST(gw_map_put(&needs->seen, work->id, 1));
    const struct sim_job *job = work->job;
    needs->placed += placed(sim, work);
    needs->otherwise = needs->otherwise || work->cancelled || job->cancelled || job->after ||
                       job->scattered || job->pure || job->range || work->calls ||
                       work->makes_actor || !job->client->alive;
    for (uint32_t i = 0; i < work->dep_count; i++)
        add_needs(sim, needs, work->deps[i].on);
}

void sim_again_failed(struct sim *sim, const struct client *client,
                      const struct gw_msg_failed *failed)
{
    uint64_t before = 0;
    struct needs needs = {0};
    const struct share *share = sim_share_find(client, failed->request);
    if (share || failed->code != GW_EDEPENDENCY)
        return;
    const struct work *work =
        sim_client_job(sim, client, failed->request)->work.items[failed->index];
    (void)again_of(sim);
    add_needs(sim, &needs, work);
    bool again = gw_map_get(&sim->again->failed, work->id, &before);
    SIM_CHECK(sim, !again || needs.otherwise || needs.placed > before,
              "task %llu was retried, and fails as before: nothing that it needs was run again",
              (unsigned long long)work->id);
    GW_MUST(gw_map_put(&sim->again->failed, work->id, needs.placed));
    gw_map_deinit(&needs.seen);
}

/* -- Placements --------------------------------------------------------------------------------
 */

void sim_again_assigned(struct sim *sim, const struct gw_msg_assign *assign)
{
    struct again *again = again_of(sim);
    for (uint32_t i = 0; i < assign->job.count; i++) {
        const struct sim_job *job = sim_limit_job(sim, gw_col64_at(assign->job, i));
        uint32_t row = gw_col32_at(assign->index, i);
        if (!job || row >= job->work.count)
            continue;
        const struct work *work = job->work.items[row];
        GW_MUST(gw_map_put(&again->placed, work->id, placed(sim, work) + 1));
    }
}

void sim_again_free(struct sim *sim)
{
    if (!sim->again)
        return;
    gw_map_deinit(&sim->again->placed);
    gw_map_deinit(&sim->again->failed);
    free(sim->again);
    sim->again = NULL;
}
