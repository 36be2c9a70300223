/* Drained GPUs. A GPU that failed, or that the admin drained, stays drained in all terms of the
 * scheduler and incarnations of its worker until the admin undrains it. This holds from the
 * scheduler's answer, or from the worker's report, unless the fact was lost with the scheduler. A
 * GPU that its worker drained must not be used until the worker says otherwise. If several workers
 * of a machine offer the same GPU, only one of them may have processes on it, whenever workers are
 * lost or the scheduler dies. */
#include "tests/sim/faults/drain.h"

#include <stdio.h>

enum { DRAINS_PERCENT = 30, STAYS_PERCENT = 40 };

enum drained { FREE, DRAINED, UNSURE /* sent, and the scheduler may have received it */ };

/* What was said about a GPU. facts: size of the facts that include it. */
struct word {
    char uuid[SIM_GPU_NAME];
    enum drained drained;
    size_t facts;
};

struct asked {
    const struct client *client;
    uint64_t request;
    struct word word;
    enum drained before;
    bool heard;     /* the scheduler has received it; the answer may arrive much later */
    bool overtaken; /* a worker has reported something about this GPU since */
};

struct sim_drains {
    GW_ARRAY(struct word) words; /* in the order of their events */
    GW_ARRAY(struct asked) asked;
    uint64_t registered[HOSTS_MAX]; /* connection on which it registered last */
};

static struct sim_drains *drains_of(struct sim *sim)
{
    if (!sim->drains)
        GW_MUST_PTR(sim->drains = calloc(1, sizeof *sim->drains));
    return sim->drains;
}

void sim_drain_free(struct sim *sim)
{
    if (!sim->drains)
        return;
    gw_array_deinit(&sim->drains->words);
    gw_array_deinit(&sim->drains->asked);
    free(sim->drains);
    sim->drains = NULL;
}

/* -- What was said -------------------------------------------------------------------------------
 */

static void say(struct sim *sim, const char *uuid, enum drained drained)
{
    struct word word = {.drained = drained, .facts = SIZE_MAX};
    (void)snprintf(word.uuid, sizeof word.uuid, "%s", uuid);
    GW_MUST(gw_array_push(&drains_of(sim)->words, word));
}

void sim_drain_stepped(struct sim *sim)
{
    for (size_t i = sim->drains ? sim->drains->words.count : 0;
         i-- > 0 && sim->drains->words.items[i].facts == SIZE_MAX;)
        sim->drains->words.items[i].facts = sim->facts.size;
}

void sim_drain_crashed(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->host_count; i++)
        for (size_t k = 0; !sim->hosts[i].scheduler && k < sim->hosts[i].processes.count; k++)
            if (sim->hosts[i].processes.items[k]->gpus)
                sim_fault(sim, FAULT_GPU_RESTS);
    if (!sim->drains)
        return;
    gw_array_clear(&sim->drains->asked);
    while (sim->drains->words.count &&
           sim->drains->words.items[sim->drains->words.count - 1].facts > sim->facts.size)
        sim->drains->words.count--;
}

static enum drained drained_of(const struct sim *sim, const char *uuid)
{
    for (size_t i = sim->drains ? sim->drains->words.count : 0; i-- > 0;)
        if (strcmp(sim->drains->words.items[i].uuid, uuid) == 0)
            return sim->drains->words.items[i].drained;
    return FREE;
}

/* -- What the scheduler says of them -------------------------------------------------------------
 */

static const char *text_of(const struct gw_value *gpu, const char *name)
{
    const char *text = "";
    (void)gw_value_get_str(gw_value_find(gpu, name), &text, NULL);
    return text;
}

/* Returns true if this is the connection on which the host has its current worker id. */
static bool is_of(const struct host *host, const struct conn *conn)
{
    return conn && host->scheduler == conn && conn->id == host->welcomed;
}

/* Returns a worker's GPU in the scheduler's list, or NULL if the worker is not in it. The result is
 * valid as long as `list`. */
static const struct gw_value *gpu_of(const struct gw_value *list, const struct host *host,
                                     uint32_t number)
{
    for (size_t i = 0; i < gw_value_count(list); i++) {
        const struct gw_value *gpu = gw_value_at(list, i);
        int64_t at = -1, worker = -1;
        (void)gw_value_get_i64(gw_value_find(gpu, "number"), &at, NULL);
        (void)gw_value_get_i64(gw_value_find(gpu, "worker"), &worker, NULL);
        if (at == number && worker == host->worker)
            return gpu;
    }
    return NULL;
}

/* Returns why a worker's GPU is drained, an empty text if it is not, or NULL if the worker is not
 * in the list. The text is valid as long as `list`. */
static const char *why_drained(const struct gw_value *list, const struct host *host,
                               uint32_t number)
{
    const struct gw_value *gpu = gpu_of(list, host, number);
    return gpu ? text_of(gpu, "drained") : NULL;
}

static struct gw_value *ask_gpus(struct sim *sim)
{
    struct gw_value *list = NULL;
    SIM_CHECK(sim, gw_sched_query(sim->sched, "gpus", NULL, &list, NULL) == 0,
              "the scheduler does not say how its GPUs are");
    return list;
}

/* A worker has registered and has not yet reported its drained GPUs: GPUs that were drained before
 * must still be. */
static void check_drained(struct sim *sim, const struct host *host,
                          const struct gw_message *message, const struct gw_value *list)
{
    uint64_t *registered = &drains_of(sim)->registered[host->number];
    if (!is_of(host, host->scheduler) || !sim_host_is_heard(sim, host, message) ||
        *registered == host->welcomed)
        return;
    *registered = host->welcomed;
    for (uint32_t i = 0; i < host->gpus; i++) {
        char uuid[SIM_GPU_NAME];
        const char *why = why_drained(list, host, i);
        sim_gpu_name(host, i, uuid);
        enum drained drained = drained_of(sim, uuid);
        if (!why || drained == UNSURE)
            continue;
        if (sim->life && drained == DRAINED)
            sim_fault(sim, FAULT_GPU_STILL_DRAINED);
        SIM_CHECK(sim, (*why != '\0') == (drained == DRAINED), "GPU %s of host %u %s drained", uuid,
                  host->number, *why ? "is still" : "does not stay");
    }
}

static void hear_ask(struct sim *sim, const struct client *client, uint64_t request)
{
    for (size_t i = 0; sim->drains && i < sim->drains->asked.count; i++) {
        struct asked *asked = &sim->drains->asked.items[i];
        asked->heard |= asked->client == client && asked->request == request;
    }
}

static void overtake(struct sim *sim, const char *uuid)
{
    for (size_t i = 0; sim->drains && i < sim->drains->asked.count; i++) {
        struct asked *asked = &sim->drains->asked.items[i];
        asked->overtaken |= asked->heard && strcmp(asked->word.uuid, uuid) == 0;
    }
}

void sim_drain_heard(struct sim *sim, const struct host *host, const struct client *client,
                     const struct gw_message *message)
{
    const struct gw_msg_gpu_drained *drained = &message->gpu_drained;
    if (message->type == GW_MESSAGE_gpu_ask)
        hear_ask(sim, client, message->gpu_ask.request);
    if (!host || !host->gpus ||
        (message->type != GW_MESSAGE_gpu_drained && message->type != GW_MESSAGE_registration))
        return;
    struct gw_value *list = ask_gpus(sim);
    if (message->type == GW_MESSAGE_registration) {
        check_drained(sim, host, message, list);
    } else if (*drained->why && drained->lasts && drained->gpu < host->gpus) {
        char uuid[SIM_GPU_NAME];
        const char *why = why_drained(list, host, drained->gpu);
        sim_gpu_name(host, drained->gpu, uuid);
        bool heard = is_of(host, host->scheduler) && why && strcmp(why, drained->why) == 0;
        /* A duplicate, or a message of an old connection, does not count: the GPU stays undrained.
         */
        heard = heard && !*text_of(gpu_of(list, host, drained->gpu), "given_back");
        overtake(sim, uuid);
        if (heard || drained_of(sim, uuid) == FREE)
            say(sim, uuid, heard ? DRAINED : UNSURE);
        sim_drain_stepped(sim);
    }
    gw_value_unref(list);
}

/* Returns true if an answer about this GPU is pending. */
static bool is_asked(const struct sim *sim, const char *uuid)
{
    for (size_t i = 0; i < sim->drains->asked.count; i++)
        if (strcmp(sim->drains->asked.items[i].word.uuid, uuid) == 0)
            return true;
    return false;
}

void sim_drain_told(struct sim *sim, const struct client *client, const struct gw_message *message)
{
    if (message->type != GW_MESSAGE_reply)
        return;
    for (size_t i = 0; sim->drains && i < sim->drains->asked.count; i++) {
        struct asked asked = sim->drains->asked.items[i];
        if (asked.client != client || asked.request != message->reply.request)
            continue;
        gw_array_remove_swap(&sim->drains->asked, i);
        /* Otherwise the state may have changed since. */
        if (!asked.overtaken && !is_asked(sim, asked.word.uuid))
            say(sim, asked.word.uuid, message->reply.code == 0 ? asked.word.drained : asked.before);
        if (message->reply.code == 0)
            sim_fault(sim, asked.word.drained ? FAULT_GPU_TAKEN_OUT : FAULT_GPU_GIVEN_BACK);
        return;
    }
}

/* -- Where it places -----------------------------------------------------------------------------
 */

void sim_drain_assigned(struct sim *sim, const struct conn *conn,
                        const struct gw_msg_assign *assign)
{
    const struct host *host = conn->ends[1].host;
    uint32_t at = 0;
    if (!assign->gpus.count)
        return;
    struct gw_value *list = ask_gpus(sim);
    for (uint32_t i = 0; i < assign->attempt.count; i++)
        for (uint32_t end = at + gw_col32_at(assign->gpu_count, i); at < end; at++) {
            char uuid[SIM_GPU_NAME];
            uint32_t number = gw_col32_at(assign->gpus, at);
            const char *why = is_of(host, conn) ? why_drained(list, host, number) : NULL;
            sim_gpu_name(host, number, uuid);
            SIM_CHECK(sim, drained_of(sim, uuid) != DRAINED && !(why && *why),
                      "attempt %llx is placed at GPU %s of host %u, which is drained: %s",
                      (unsigned long long)gw_col64_at(assign->attempt, i), uuid, host->number,
                      why && *why ? why : "it stays so");
        }
    gw_value_unref(list);
}

void sim_drain_alone(struct sim *sim, const struct process *process, uint32_t gpu)
{
    char mine[SIM_GPU_NAME], name[SIM_GPU_NAME];
    sim_gpu_name(process->host, gpu, mine);
    for (uint32_t i = 0; i < sim->host_count; i++) {
        const struct host *host = &sim->hosts[i];
        for (size_t k = 0; host != process->host && k < host->processes.count; k++)
            for (uint32_t number = 0; number < host->gpus; number++) {
                const struct process *other = host->processes.items[k];
                if (!(other->gpus >> number & 1) || !other->executing)
                    continue;
                sim_gpu_name(host, number, name);
                SIM_CHECK(sim, strcmp(mine, name) != 0,
                          "process %llu of host %u begins on GPU %s, where process %llu of host "
                          "%u is",
                          (unsigned long long)process->id, process->host->number, mine,
                          (unsigned long long)other->id, host->number);
            }
    }
}

/* -- The admin -----------------------------------------------------------------------------------
 */

static struct client *admin_of(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->client_count; i++) {
        struct client *client = &sim->clients[i];
        if (client->alive && client->conn && client->admin)
            return client;
    }
    return NULL;
}

void sim_drain_ask(struct sim *sim, struct host *host, uint32_t number, bool drain)
{
    struct client *client = admin_of(sim);
    char name[SIM_GPU_NAME];
    if (!client)
        return;
    sim_gpu_name(host, number, name);
    for (uint32_t i = 0; i < sim->host_count && !drain; i++) {
        char same[SIM_GPU_NAME];
        sim_gpu_name(&sim->hosts[i], number, same);
        if (strcmp(name, same) != 0)
            continue;
        sim->hosts[i].gpu[number].lost = false;
        sim->hosts[i].gpu[number].given = true;
    }
    struct asked asked = {.client = client,
                          .request = sim_client_call(client, GW_MESSAGE_reply),
                          .word = {.drained = drain ? DRAINED : FREE}};
    (void)snprintf(asked.word.uuid, sizeof asked.word.uuid, "%s", name);
    asked.before = drained_of(sim, name);
    say(sim, name, UNSURE); /* unknown until the answer arrives */
    sim_drain_stepped(sim);
    GW_MUST(gw_array_push(&drains_of(sim)->asked, asked));
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_gpu_ask,
                                         .gpu_ask = {asked.request, asked.word.uuid, drain}});
}

/* The first GPU of host 0 is not drained, so that tasks that need one can run somewhere. */
static void on_admin(struct sim *sim, void *arg)
{
    uint64_t chance = sim_hash(sim->now_ns ^ sim->seed, 701);
    struct host *host = &sim->hosts[chance % sim->host_count];
    uint32_t number = (uint32_t)(chance >> 8) % SIM_GPUS;
    (void)arg;
    if (sim->healed)
        return;
    if (number < host->gpus && sim_gpu_may_break(host, number))
        sim_drain_ask(sim, host, number, (chance >> 16) % 100 < STAYS_PERCENT);
    sim_plan(sim, 50 * MS + (chance >> 24) % (200 * MS), on_admin, NULL);
}

/* Uses a hash, so that the random numbers of other seeds do not change. */
void sim_drain_plan(struct sim *sim)
{
    if (sim_hash(sim->seed, 700) % 100 < DRAINS_PERCENT)
        sim_plan(sim, 100 * MS, on_admin, NULL);
}
