/* Ends of ranges. A detached range may be retried. Then all its tasks must run, also tasks that
 * never began because they were cancelled first, unless the range is ended again. */
#include "tests/sim/world/range.h"

#include "tests/sim/faults/crash.h"
#include "tests/sim/world/request.h"

#include "graph/wire/codec.h"

#include <gangway/value.h>

static uint64_t index_of(const struct client *client, const struct sim_job *job)
{
    uint64_t at = 0;
    while (client->jobs.items[at] != job)
        at++;
    return at;
}

static void run_again(struct sim *sim, struct client *client, struct sim_job *job)
{
    uint64_t request = sim_client_call(client, GW_MESSAGE_reply);
    sim_fault(sim, FAULT_RANGE_AGAIN);
    GW_MUST(gw_map_put(&client->ranges_again, request, index_of(client, job)));
    client->retried = true;
    for (size_t i = 0; i < job->work.count; i++)
        sim_request_mark_again(job->work.items[i]);
    sim->retried_ns = sim->now_ns;
    job->whole_again = job->cancelled_since = false;
    sim_client_send(
        sim, client,
        &(struct gw_message){.type = GW_MESSAGE_retry, .retry = {request, job->id, GW_INDEX_ALL}});
}

/* Returns true if the history may forget an ended range before its client waits for it. No future
 * retains a range whose results the client does not take. */
static bool may_be_forgotten(const struct sim *sim, const struct sim_job *job)
{
    return sim->seed % 16 == 15 && !job->work.items[0]->target;
}

/* The reply contains how many of the range's tasks are reported. */
void sim_range_over(struct sim *sim, struct client *client, struct sim_job *job,
                    const struct gw_msg_reply *reply)
{
    if (reply->code == GW_ENOENT && may_be_forgotten(sim, job))
        return;
    struct gw_value *body;
    int64_t made = -1;
    if (reply->code == GW_ENOENT && sim_has_short_history(sim))
        return; /* it ended and was forgotten before its client asked */
    SIM_CHECK(sim,
              gw_codec_decode(reply->body.data, reply->body.size, NULL, &body, NULL) == 0 &&
                  gw_value_get_i64(gw_value_at(body, 3), &made, NULL) == 0,
              "the end of a range without a number");
    SIM_CHECK(sim, made >= 0 && made <= (int64_t)job->work.count, "a range made of too many");
    bool ends_early = job->stop || job->after || job->work.items[0]->dep_count > 0;
    SIM_CHECK(sim, !job->whole_again || ends_early || made == (int64_t)job->work.count,
              "job %llu was run again, and only %lld of its %zu tasks were made",
              (unsigned long long)job->id, (long long)made, job->work.count);
    job->made = (uint32_t)made;
    gw_value_unref(body);
    if (job->detached && !client->quiet && sim_hash(sim->seed, 605 + job->request) % 2)
        run_again(sim, client, job);
}

bool sim_range_again(struct sim *sim, struct client *client, const struct gw_msg_reply *reply,
                     uint64_t *job)
{
    if (!gw_map_get(&client->ranges_again, reply->request, job))
        return false;
    (void)gw_map_remove(&client->ranges_again, reply->request);
    sim->retried_ns = sim->now_ns;
    client->jobs.items[*job]->whole_again =
        reply->code == 0 && !client->jobs.items[*job]->cancelled_since;
    return reply->code == 0;
}
