/* Clients that send requests for another user's jobs: cancel, retry, read, fetch, shut down the
 * cluster. All are refused, and none has an effect on the other user's tasks. */
#include "tests/sim/sim.h"

/* Returns an accepted job of another user, or NULL. */
static struct sim_job *foreign_job(struct sim *sim, const struct client *client)
{
    struct client *other = &sim->clients[sim_below(sim, sim->client_count)];
    struct sim_job *job = other->jobs.count && other->uid != client->uid
                              ? other->jobs.items[sim_below(sim, other->jobs.count)]
                              : NULL;
    return job && job->accepted && !job->rejected && job->work.count ? job : NULL;
}

static void expect(struct client *client, uint64_t request)
{
    GW_MUST(gw_map_put(&client->trespassing, request, 1));
}

void sim_trespass_act(struct sim *sim, struct client *client)
{
    const struct sim_job *job = foreign_job(sim, client);
    struct gw_message message = {0};
    uint64_t what = sim_below(sim, 4);
    if (client->admin || client->work)
        return; /* an admin may do this, and a task has the user of its job */
    if (what == 0) {
        message.type = GW_MESSAGE_shutdown;
        message.shutdown.request = sim_client_call(client, GW_MESSAGE_reply);
        message.shutdown.text = "a stranger's wish";
        expect(client, message.shutdown.request);
    } else if (!job) {
        return;
    } else if (what == 1) {
        message.type = GW_MESSAGE_retry;
        message.retry =
            (struct gw_msg_retry){sim_client_call(client, GW_MESSAGE_reply), job->id, 0};
        expect(client, message.retry.request);
    } else {
        message.type = GW_MESSAGE_cancel;
        message.cancel = (struct gw_msg_cancel){sim_client_call(client, GW_MESSAGE_reply), job->id,
                                                what == 2 ? GW_INDEX_ALL : 0, 1};
        expect(client, message.cancel.request);
    }
    sim_fault(sim, FAULT_TRESPASS);
    sim_client_send(sim, client, &message);
}

void sim_trespass_answered(struct sim *sim, struct client *client, const struct gw_msg_reply *reply)
{
    if (!gw_map_remove(&client->trespassing, reply->request))
        return;
    SIM_CHECK(sim, reply->code == GW_EPERM || reply->code == GW_ENOENT,
              "client %u reached for what is another user's, and got %d (%s)", client->number,
              reply->code, reply->text);
}
