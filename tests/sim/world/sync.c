/* Coordination. Clients, also those inside tasks, acquire leases, put and get queue values, and set
 * and wait for variables and events; and they die at any time. The answers are compared with a
 * model: never more holders than leases, each queue value is delivered once, versions only
 * increase. */
#include "tests/sim/checks/ledger.h"

enum { LEASES = 2, BOUND = 3 };
#define GATE "gate"

static void ask(struct sim *sim, struct client *client, uint32_t kind, uint32_t verb,
                struct gw_msg_sync more)
{
    struct gw_message message = {.type = GW_MESSAGE_sync, .sync = more};
    uint64_t value = 0;
    message.sync.request = sim_client_call(client, GW_MESSAGE_synced);
    message.sync.kind = kind;
    message.sync.verb = verb;
    GW_MUST(gw_map_put(&client->syncing, message.sync.request, kind << 8 | verb));
    if (more.value.size == sizeof value)
        memcpy(&value, more.value.data, sizeof value);
    if (!strchr(more.name, '/')) /* the ledger knows no events of jobs */
        sim_ledger_asked(sim, client, &message.sync, value);
    sim_client_send(sim, client, &message);
}

static uint64_t some_time(struct sim *sim)
{
    return sim_chance(sim, 25) ? 0 : sim_below(sim, 3 * SECOND);
}

/* -- Doing ---------------------------------------------------------------------------------------
 */

void sim_sync_acquire(struct sim *sim, struct client *client)
{
    if (!client->opened) {
        client->opened = true;
        ask(sim, client, GW_SYNC_SEMAPHORE, GW_SYNC_OPEN,
            (struct gw_msg_sync){.name = GATE, .number = LEASES});
    }
    ask(sim, client, GW_SYNC_SEMAPHORE, GW_SYNC_ACQUIRE,
        (struct gw_msg_sync){.name = GATE, .timeout_ns = some_time(sim)});
}

void sim_sync_release(struct sim *sim, struct client *client)
{
    if (client->leases == 0)
        return;
    client->leases--;
    ask(sim, client, GW_SYNC_SEMAPHORE, GW_SYNC_RELEASE, (struct gw_msg_sync){.name = GATE});
}

static void act_on_queue(struct sim *sim, struct client *client)
{
    uint64_t value = ++sim->next_put;
    struct gw_msg_sync more = {.name = "queue", .timeout_ns = some_time(sim)};
    if (!client->opened_queue) {
        client->opened_queue = true;
        ask(sim, client, GW_SYNC_QUEUE, GW_SYNC_OPEN,
            (struct gw_msg_sync){.name = "queue", .number = BOUND});
    }
    if (sim_chance(sim, 50)) {
        more.value = (struct gw_bin){&value, sizeof value};
        ask(sim, client, GW_SYNC_QUEUE, GW_SYNC_PUT, more);
    } else {
        more.number = 1 + sim_below(sim, 3);
        ask(sim, client, GW_SYNC_QUEUE, GW_SYNC_GET, more);
    }
}

static void act_on_variable(struct sim *sim, struct client *client)
{
    uint64_t value = ++sim->next_put;
    struct gw_msg_sync more = {.name = "variable",
                               .number = client->version,
                               .timeout_ns = some_time(sim),
                               .value = {&value, sizeof value}};
    static const uint32_t verbs[] = {GW_SYNC_SET, GW_SYNC_REPLACE, GW_SYNC_WAIT};
    ask(sim, client, GW_SYNC_VARIABLE, verbs[sim_below(sim, 3)], more);
}

/* Sets, clears or waits for an event, which may belong to a job. */
void sim_sync_signal(struct sim *sim, struct client *client)
{
    static const uint32_t verbs[] = {GW_SYNC_SET, GW_SYNC_CLEAR, GW_SYNC_WAIT, GW_SYNC_WAIT};
    char name[32] = "event";
    const struct sim_job *job =
        client->jobs.count ? client->jobs.items[sim_below(sim, client->jobs.count)] : NULL;
    if (client->work && sim_chance(sim, 50))
        (void)snprintf(name, sizeof name, "./event");
    else if (job && job->id && sim_chance(sim, 50))
        (void)snprintf(name, sizeof name, "%llu/event", (unsigned long long)job->id);
    ask(sim, client, GW_SYNC_EVENT, verbs[sim_below(sim, 4)],
        (struct gw_msg_sync){.name = name, .timeout_ns = some_time(sim)});
}

void sim_sync_act(struct sim *sim, struct client *client)
{
    uint64_t what = sim_below(sim, 100);
    if (what < 30)
        sim_sync_acquire(sim, client);
    else if (what < 55)
        sim_sync_release(sim, client);
    else if (what < 75)
        act_on_queue(sim, client);
    else if (what < 85)
        act_on_variable(sim, client);
    else if (what < 97)
        sim_sync_signal(sim, client);
    else
        ask(sim, client, GW_SYNC_QUEUE, GW_SYNC_DELETE, (struct gw_msg_sync){.name = "queue"});
}

/* -- Being told ----------------------------------------------------------------------------------
 */

/* Names belong to a user. A task has the user of its client. */
uint32_t sim_sync_user(const struct client *client)
{
    while (client->work)
        client = client->work->job->client;
    return client->uid;
}

static bool same_user(const struct client *a, const struct client *b)
{
    return a->alive && sim_sync_user(a) == sim_sync_user(b);
}

static void leased(struct sim *sim, struct client *client, uint64_t fence)
{
    uint32_t held = 0;
    SIM_CHECK(sim, fence > client->fence && !gw_map_get(&sim->fences, fence, NULL),
              "a lease has number %llu again", (unsigned long long)fence);
    client->fence = fence;
    GW_MUST(gw_map_put(&sim->fences, fence, 1));
    if (client->ended)
        return;
    client->leases++;
    sim_fault(sim, FAULT_LEASE);
    for (uint32_t i = 0; i < sim->client_count; i++)
        held += same_user(&sim->clients[i], client) ? sim->clients[i].leases : 0;
    for (size_t i = 0; i < sim->insiders.count; i++)
        held += same_user(sim->insiders.items[i], client) ? sim->insiders.items[i]->leases : 0;
    SIM_CHECK(sim, held <= LEASES, "%u leases of a semaphore of %d are held", held, LEASES);
}

static void got(struct sim *sim, const struct gw_msg_synced *synced)
{
    const uint8_t *at = synced->value.data;
    SIM_CHECK(sim, synced->number > 0 && synced->value.size == synced->number * 12,
              "values of a queue of another size");
    for (uint64_t i = 0; i < synced->number; i++, at += 12) {
        uint64_t value;
        memcpy(&value, at + 4, sizeof value);
        SIM_CHECK(sim, value > 0 && value <= sim->next_put, "a value that nobody put");
        SIM_CHECK(sim, !gw_map_get(&sim->got, value, NULL), "value %llu is given out twice",
                  (unsigned long long)value);
        GW_MUST(gw_map_put(&sim->got, value, 1));
        sim_fault(sim, FAULT_GOT);
    }
}

void sim_sync_take(struct sim *sim, struct client *client, const struct gw_msg_synced *synced)
{
    uint64_t what;
    bool known = gw_map_get(&client->syncing, synced->request, &what);
    SIM_CHECK(sim, known, "an answer to no question");
    (void)gw_map_remove(&client->syncing, synced->request);
    uint32_t kind = (uint32_t)what >> 8, verb = what & 0xff;
    bool waits = verb == GW_SYNC_ACQUIRE || verb == GW_SYNC_WAIT || verb == GW_SYNC_PUT ||
                 verb == GW_SYNC_GET;
    /* An event may belong to a job that ends, or has ended. */
    bool deletable = kind == GW_SYNC_QUEUE || kind == GW_SYNC_EVENT;
    if (kind == GW_SYNC_EVENT && synced->code == GW_ECANCELLED)
        sim_fault(sim, FAULT_SCOPE_END);
    if (synced->code == GW_ETIMEDOUT) {
        SIM_CHECK(sim, waits, "a time-out of what never waits");
        sim_fault(sim, FAULT_SYNC_TIMEOUT);
        return;
    }
    SIM_CHECK(sim,
              synced->code == 0 || (synced->code == GW_EAGAIN && verb == GW_SYNC_REPLACE) ||
                  (deletable && (synced->code == GW_ECANCELLED || synced->code == GW_ENOENT ||
                                 synced->code == GW_EEXIST)),
              "kind %u, verb %u fails for no reason: %s: %s", kind, verb,
              gw_error_name(synced->code), synced->text);
    if (synced->code < 0)
        return;
    if (verb == GW_SYNC_ACQUIRE)
        leased(sim, client, synced->number);
    else if (verb == GW_SYNC_GET)
        got(sim, synced);
    else if (kind == GW_SYNC_VARIABLE) {
        SIM_CHECK(sim, synced->number > client->version || verb == GW_SYNC_WAIT,
                  "the version of a variable does not grow");
        SIM_CHECK(sim, synced->number >= client->version, "the version of a variable shrinks");
        client->version = synced->number;
    } else if (kind == GW_SYNC_EVENT && verb == GW_SYNC_WAIT) {
        sim_fault(sim, FAULT_SIGNALLED);
    }
}

/* A client has died or its session was ended. A task on a lost worker may not know this yet. */
void sim_sync_end(struct sim *sim, struct client *client)
{
    if (client->leases > 0)
        sim_fault(sim, FAULT_HOLDER_DEATH);
    client->leases = 0;
    client->ended = true;
}
