/* Shared results. Clients look up other clients' tasks, publish them under a few names, and release
 * them. Check: the end of a held task is reported once, and its result exists. */
#include "tests/sim/checks/ledger.h"
#include "tests/sim/world/request.h"

#include <stdio.h>

enum { NAMES = 4 };

bool sim_share_endless(const struct work *work)
{
    bool endless =
        work->job->infeasible || work->makes_actor || (work->hangs && !work->time_limit_ns);
    for (uint32_t i = 0; !work->inputs && i < work->dep_count; i++)
        endless = endless || sim_share_endless(work->deps[i].on);
    return endless;
}

static struct work *some_work(struct sim *sim)
{
    const struct sim_job *job =
        sim->jobs.count ? sim->jobs.items[sim_below(sim, sim->jobs.count)] : NULL;
    if (!job || !job->accepted || job->rejected || job->range || job->work.count == 0)
        return NULL;
    struct work *work = job->work.items[sim_below(sim, job->work.count)];
    return sim_share_endless(work) ? NULL : work;
}

/* Prefers a task whose result is at a worker. */
static const struct work *some_large_work(struct sim *sim)
{
    const struct work *work = some_work(sim);
    for (int tries = 0; tries < 6 && (!work || work->bytes <= GW_INLINE_BYTES_MAX); tries++)
        work = some_work(sim);
    return work;
}

static void name_of(uint64_t n, char name[16])
{
    (void)snprintf(name, 16, "name %u", (uint32_t)(n % NAMES));
}

/* -- Doing ---------------------------------------------------------------------------------------
 */

static void look_up(struct sim *sim, struct client *client, const struct work *work)
{
    char name[16] = "";
    struct share *share = calloc(1, sizeof *share);
    GW_MUST_PTR(share);
    share->request = sim_client_call(client, GW_MESSAGE_held);
    GW_MUST(gw_array_push(&client->shares, share));
    if (!work) {
        name_of(sim_random(sim), name);
        sim_ledger_look_up(sim, client, share->request, name);
    }
    struct gw_message message = {.type = GW_MESSAGE_lookup};
    message.lookup = (struct gw_msg_lookup){.request = share->request,
                                            .kind = 1,
                                            .job = work ? work->job->id : 0,
                                            .index = work ? work->row : 0,
                                            .name = name};
    sim_client_send(sim, client, &message);
}

static void publish(struct sim *sim, struct client *client, const struct work *work)
{
    char name[16];
    name_of(sim_random(sim), name);
    struct gw_message message = {.type = GW_MESSAGE_publish};
    message.publish = (struct gw_msg_publish){.request = sim_client_call(client, GW_MESSAGE_reply),
                                              .name = name,
                                              .job = work ? work->job->id : 0,
                                              .index = work ? work->row : 0};
    sim_fault(sim, work ? FAULT_PUBLISH : FAULT_UNPUBLISH);
    sim_ledger_publish(sim, client, message.publish.request, name, work);
    sim_client_send(sim, client, &message);
}

static void drop(struct sim *sim, struct client *client, struct share *share)
{
    sim_fault(sim, FAULT_DROP);
    share->dropped = true;
    if (share->told == TOLD_NOTHING)
        sim_work_unwanted(share->work);
    struct gw_message message = {.type = GW_MESSAGE_drop};
    message.drop.request = (struct gw_col64){&share->request, 1};
    sim_client_send(sim, client, &message);
}

void sim_share_act(struct sim *sim, struct client *client)
{
    struct share *share =
        client->shares.count ? client->shares.items[sim_below(sim, client->shares.count)] : NULL;
    uint64_t what = sim_below(sim, 100);
    struct work *work = some_work(sim);
    const struct work *large = what >= 78 ? some_large_work(sim) : NULL;
    if (what < 30 && work)
        look_up(sim, client, work);
    else if (what < 40)
        look_up(sim, client, NULL);
    else if (what < 55 && work)
        publish(sim, client, work);
    else if (what < 65)
        publish(sim, client, NULL);
    else if (share && share->work && !share->dropped && what < 80)
        drop(sim, client, share);
    else if (what >= 78 && work && sim_chance(sim, 75))
        sim_replica_ask(sim, client, large ? large : work);
    else if (share && share->told == TOLD_DONE && !share->dropped)
        sim_request_fetch(sim, client, share->work,
                          (uint32_t)sim_below(sim, sim_work_least(share->work)));
}

/* -- Being told ----------------------------------------------------------------------------------
 */

struct share *sim_share_find(const struct client *client, uint64_t request)
{
    for (size_t i = 0; i < client->shares.count; i++)
        if (client->shares.items[i]->request == request)
            return client->shares.items[i];
    return NULL;
}

bool sim_share_holds(const struct client *client, const struct work *work)
{
    for (size_t i = 0; i < client->shares.count; i++) {
        const struct share *share = client->shares.items[i];
        if (share->work == work && !share->dropped && share->told == TOLD_DONE)
            return true;
    }
    return false;
}

struct work *sim_share_work(struct sim *sim, uint64_t job, uint32_t row)
{
    for (size_t i = 0; i < sim->jobs.count; i++)
        if (sim->jobs.items[i]->promised == job || sim->jobs.items[i]->id == job)
            return sim->jobs.items[i]->work.items[row];
    sim_fail(sim, "a lookup finds a job that nobody submitted");
}

/* The scheduler sends an answer. From now on it may send the end of the task, even before the
 * answer arrives. */
void sim_share_promise(struct sim *sim, const struct client *client, const struct gw_msg_held *held)
{
    struct share *share = sim_share_find(client, held->request);
    SIM_CHECK(sim, share && !share->promised, "held, and nobody looked it up");
    if (held->code == 0)
        share->promised = sim_share_work(sim, held->job, held->index);
}

void sim_share_take(struct sim *sim, struct client *client, const struct gw_msg_held *held)
{
    struct share *share = sim_share_find(client, held->request);
    if (held->code < 0) {
        share->dropped = true;
        return;
    }
    sim_fault(sim, FAULT_SHARE);
    share->work = share->promised;
    SIM_CHECK(sim, held->ranks == share->work->ranks, "a lookup says %u ranks, there are %u",
              held->ranks, share->work->ranks);
}

/* Handles a row of `done` or a `failed` of a share. There may be only one, or one more after a
 * retry. */
void sim_share_told(struct sim *sim, struct share *share, enum told told, uint32_t rank)
{
    SIM_CHECK(sim, share->work, "told of the end before what was found");
    const struct work *work = share->work;
    bool again = work->retried || work->job->again || (work->job->pure && sim->retried_ns);
    if (share->told == TOLD_FAILED && again) {
        share->told = TOLD_NOTHING;
        share->ranks_told = 0;
    }
    SIM_CHECK(sim,
              share->told != TOLD_FAILED && !(share->ranks_told & 1u << rank) &&
                  (told == TOLD_DONE || share->told == TOLD_NOTHING),
              "share %llu of task %llu ends twice", (unsigned long long)share->request,
              (unsigned long long)share->work->id);
    share->ranks_told |= told == TOLD_DONE ? 1u << rank : 0;
    share->told = told;
}

size_t sim_published_tokens(struct sim *sim)
{
    struct gw_value *list;
    GW_ARRAY(uint64_t) seen = {0};
    int rc = gw_sched_query(sim->sched, "published", NULL, &list, NULL);
    SIM_CHECK(sim, rc == 0, "nobody knows what is published");
    for (size_t i = 0; i < gw_value_count(list); i++) {
        int64_t job = 0, index = 0;
        (void)gw_value_get_i64(gw_value_find(gw_value_at(list, i), "job"), &job, NULL);
        (void)gw_value_get_i64(gw_value_find(gw_value_at(list, i), "index"), &index, NULL);
        const struct work *work = sim_share_work(sim, (uint64_t)job, (uint32_t)index);
        bool known = !work->job->scattered || work->bytes <= GW_SCATTER_INLINE_BYTES_MAX;
        for (size_t k = 0; k < seen.count; k++)
            known = known || seen.items[k] == work->id;
        if (!known)
            GW_MUST(gw_array_push(&seen, work->id));
    }
    size_t count = seen.count;
    gw_array_deinit(&seen);
    gw_value_unref(list);
    return count;
}

bool sim_shares_settled(const struct client *client)
{
    for (size_t i = 0; i < client->shares.count; i++)
        if (!client->shares.items[i]->dropped && client->shares.items[i]->told == TOLD_NOTHING)
            return false;
    return true;
}

void sim_shares_free(struct client *client)
{
    for (size_t i = 0; i < client->shares.count; i++)
        free(client->shares.items[i]);
    gw_array_deinit(&client->shares);
}
