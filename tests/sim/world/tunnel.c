/* Tunnels. A client talks to a process beside its task, which here only echoes what it receives.
 * Checks: the echo is what was sent, in order; and a client that disconnects leaves no tunnel at a
 * worker. */
#include "tests/sim/sim.h"

/* -- At the host, in place of worker/net ---------------------------------------------------------
 */

static void host_say(struct sim *sim, struct host *host, struct gw_effect *effect)
{
    gw_node_core_stamp(host->core, &effect->message);
    sim_send(sim, host->scheduler, 1, effect);
}

static void host_opened(struct sim *sim, struct host *host, uint64_t id, int code)
{
    struct gw_effect effect = {.message.type = GW_MESSAGE_tunnel_opened};
    effect.message.tunnel_opened =
        (struct gw_msg_tunnel_opened){id, code, code < 0 ? "it has ended" : "", id};
    host_say(sim, host, &effect);
}

static struct host_tunnel *host_find(struct host *host, uint64_t id)
{
    for (size_t i = 0; i < host->tunnels.count; i++)
        if (host->tunnels.items[i].id == id)
            return &host->tunnels.items[i];
    return NULL;
}

void sim_tunnel_host_take(struct sim *sim, struct host *host, const struct gw_message *message)
{
    if (!host->scheduler || message->sequence <= host->log_seen)
        return;
    host->log_seen = message->sequence;
    if (message->type == GW_MESSAGE_tunnel_open) {
        const struct gw_msg_tunnel_open *open = &message->tunnel_open;
        struct gw_node_place place;
        bool lives = gw_node_core_find(host->core, open->attempt, open->rank, &place);
        if (lives)
            GW_MUST(gw_array_push(&host->tunnels,
                                  (struct host_tunnel){open->request, open->attempt, open->rank}));
        host_opened(sim, host, open->request, lives ? 0 : GW_ENOENT);
    } else if (message->type == GW_MESSAGE_tunnel_data) {
        struct gw_effect effect = {.message = *message};
        if (host_find(host, message->tunnel_data.tunnel))
            host_say(sim, host, &effect);
    } else if (message->type == GW_MESSAGE_tunnel_close) {
        struct host_tunnel *tunnel = host_find(host, message->tunnel_close.tunnel);
        if (tunnel)
            gw_array_remove_swap(&host->tunnels, (size_t)(tunnel - host->tunnels.items));
    }
}

void sim_tunnel_host_look(struct sim *sim, struct host *host)
{
    struct gw_node_place place;
    if (!host->scheduler) {
        gw_array_clear(&host->tunnels);
        return;
    }
    for (size_t i = host->tunnels.count; i-- > 0;) {
        struct host_tunnel tunnel = host->tunnels.items[i];
        if (gw_node_core_find(host->core, tunnel.attempt, tunnel.rank, &place))
            continue;
        struct gw_effect effect = {.message.type = GW_MESSAGE_tunnel_close};
        effect.message.tunnel_close =
            (struct gw_msg_tunnel_close){tunnel.id, GW_ECANCELLED, "it has ended"};
        host_say(sim, host, &effect);
        sim_fault(sim, FAULT_TUNNEL_TASK);
        gw_array_remove_swap(&host->tunnels, i);
    }
}

/* -- At the client -------------------------------------------------------------------------------
 */

static void say(struct sim *sim, struct client *client, struct client_tunnel *tunnel)
{
    uint64_t word = ++tunnel->said;
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_tunnel_data,
                                         .tunnel_data = {tunnel->id, {&word, sizeof word}}});
}

static void hang_up(struct sim *sim, struct client *client, size_t at)
{
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_tunnel_close,
                                         .tunnel_close = {client->tunnels.items[at].id, 0, ""}});
    gw_array_remove_swap(&client->tunnels, at);
}

/* Returns a random task, preferably one that runs according to the client. */
static const struct work *choose(struct sim *sim, const struct sim_job *job)
{
    const struct work *work = NULL;
    for (int tries = 0; tries < 8; tries++) {
        work = job->work.items[sim_below(sim, job->work.count)];
        if (work->started > work->ended_well && work->told == TOLD_NOTHING)
            break;
    }
    return work;
}

void sim_tunnel_act(struct sim *sim, struct client *client, const struct sim_job *job)
{
    size_t at = client->tunnels.count ? sim_below(sim, client->tunnels.count) : 0;
    if (client->tunnels.count == 0 || sim_chance(sim, 30)) {
        const struct work *work = choose(sim, job);
        struct client_tunnel tunnel = {.request =
                                           sim_client_call(client, GW_MESSAGE_tunnel_opened)};
        struct gw_message message = {.type = GW_MESSAGE_tunnel_open};
        message.tunnel_open = (struct gw_msg_tunnel_open){
            .request = tunnel.request,
            .job = job->id,
            .index = work->row,
            .rank = work->ranks ? (uint32_t)sim_below(sim, work->ranks) : 0,
            .kind = GW_TUNNEL_PORT,
            .wait = sim_chance(sim, 70) && !client->quiet,
            .argv = {"", 0},
            .number = 1,
            .cwd = "",
        };
        GW_MUST(gw_array_push(&client->tunnels, tunnel));
        sim_client_send(sim, client, &message);
    } else if (client->tunnels.items[at].id && sim_chance(sim, 80)) {
        say(sim, client, &client->tunnels.items[at]);
    } else if (client->tunnels.items[at].id) {
        hang_up(sim, client, at);
    }
}

static struct client_tunnel *client_find(struct client *client, uint64_t id, uint64_t request)
{
    for (size_t i = 0; i < client->tunnels.count; i++)
        if ((id && client->tunnels.items[i].id == id) ||
            (request && client->tunnels.items[i].request == request))
            return &client->tunnels.items[i];
    return NULL;
}

void sim_tunnel_client_take(struct sim *sim, struct client *client,
                            const struct gw_message *message)
{
    struct client_tunnel *tunnel;
    uint64_t word;
    if (message->type == GW_MESSAGE_tunnel_opened) {
        tunnel = client_find(client, 0, message->tunnel_opened.request);
        SIM_CHECK(sim, tunnel && !tunnel->id, "a tunnel is opened that nobody wants");
        tunnel->id = message->tunnel_opened.tunnel;
        sim_fault(sim, message->tunnel_opened.code < 0 ? FAULT_NO_TUNNEL : FAULT_TUNNEL);
        if (message->tunnel_opened.code < 0)
            gw_array_remove_swap(&client->tunnels, (size_t)(tunnel - client->tunnels.items));
        else
            say(sim, client, tunnel);
        return;
    }
    bool data = message->type == GW_MESSAGE_tunnel_data;
    tunnel =
        client_find(client, data ? message->tunnel_data.tunnel : message->tunnel_close.tunnel, 0);
    if (!tunnel)
        return; /* already closed by this client */
    if (!data) {
        gw_array_remove_swap(&client->tunnels, (size_t)(tunnel - client->tunnels.items));
        return;
    }
    SIM_CHECK(sim, message->tunnel_data.data.size == sizeof word, "a tunnel cuts what it carries");
    memcpy(&word, message->tunnel_data.data.data, sizeof word);
    SIM_CHECK(sim, word == ++tunnel->heard && word <= tunnel->said,
              "a tunnel brings %llu as its word %llu", (unsigned long long)word,
              (unsigned long long)tunnel->heard);
}

/* -- At the scheduler, seen from outside ---------------------------------------------------------
 */

void sim_tunnel_watch(struct sim *sim, const struct gw_effect *effect)
{
    const struct gw_message *message = &effect->message;
    uint64_t id = message->type == GW_MESSAGE_tunnel_open     ? message->tunnel_open.request
                  : message->type == GW_MESSAGE_tunnel_opened ? message->tunnel_opened.tunnel
                  : message->type == GW_MESSAGE_tunnel_close  ? message->tunnel_close.tunnel
                                                              : 0;
    if (message->type == GW_MESSAGE_tunnel_open)
        GW_MUST(gw_array_push(&sim->tunnels, (struct sched_tunnel){id, effect->peer.id, 0}));
    for (size_t i = sim->tunnels.count; i-- > 0 && id;) {
        struct sched_tunnel *tunnel = &sim->tunnels.items[i];
        if (tunnel->id != id)
            continue;
        if (message->type == GW_MESSAGE_tunnel_opened && message->tunnel_opened.code == 0)
            tunnel->client = effect->peer.id;
        else if (message->type != GW_MESSAGE_tunnel_open)
            gw_array_remove_swap(&sim->tunnels, i);
    }
}

void sim_tunnel_closed(struct sim *sim, uint64_t peer)
{
    for (size_t i = sim->tunnels.count; i-- > 0;) {
        SIM_CHECK(sim, sim->tunnels.items[i].client != peer,
                  "a tunnel stays at its worker after its client");
        if (sim->tunnels.items[i].worker == peer)
            gw_array_remove_swap(&sim->tunnels, i);
    }
}
