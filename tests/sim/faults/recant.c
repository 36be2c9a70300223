/* Calls of actors that are cancelled before they begin. As soon as their worker knows that the call
 * before them runs long, they must end without waiting for it. */
#include "tests/sim/faults/recant.h"

#include "tests/sim/checks/limit.h"
#include "tests/sim/world/request.h"

void sim_recant_assigned(struct sim *sim, const struct gw_msg_assign *assign)
{
    for (uint32_t i = 0; i < assign->job.count; i++) {
        const struct sim_job *job = sim_limit_job(sim, gw_col64_at(assign->job, i));
        const struct work *first = job && job->work.count ? job->work.items[0] : NULL;
        if (first && first->calls)
            GW_MUST(gw_map_put(&sim->calls_out, gw_col64_at(assign->attempt, i),
                               (uintptr_t)first->calls));
    }
}

static void hear(struct sim *sim, struct host *host, const struct gw_message *message)
{
    uint64_t actor;
    if (message->type == GW_MESSAGE_welcome) /* calls that ended before this were not reported */
        gw_map_deinit(&host->recanted);
    if (message->type != GW_MESSAGE_kill || message->kill.reason == GW_KILL_TAKE_BACK)
        return;
    for (uint32_t i = 0; i < message->kill.attempt.count; i++) {
        uint64_t attempt = gw_col64_at(message->kill.attempt, i);
        if (gw_map_get(&sim->calls_out, attempt, &actor))
            GW_MUST(gw_map_put(&host->recanted, attempt, actor));
    }
}

/* Returns the process of an actor on this host whose call has reported that it runs long, or NULL.
 */
static const struct process *long_one(const struct host *host, uint64_t actor)
{
    for (size_t i = 0; i < host->processes.count; i++) {
        const struct process *process = host->processes.items[i];
        if ((uintptr_t)process->actor == actor && process->alive && process->rows.count &&
            process->long_attempt == process->rows.items[0].attempt)
            return process;
    }
    return NULL;
}

void sim_recant_told(struct sim *sim, struct host *host, const struct gw_message *message)
{
    uint64_t actor;
    if (message->type == GW_MESSAGE_ended) {
        const struct gw_msg_ended *ended = &message->ended;
        if (gw_map_get(&host->recanted, ended->attempt, &actor) && long_one(host, actor) &&
            !ended->executing)
            sim_fault(sim, FAULT_RECANTED);
        (void)gw_map_remove(&host->recanted, ended->attempt);
        (void)gw_map_remove(&sim->calls_out, ended->attempt);
    }
    for (uint32_t i = 0;
         message->type == GW_MESSAGE_finished && i < message->finished.attempt.count; i++) {
        (void)gw_map_remove(&host->recanted, gw_col64_at(message->finished.attempt, i));
        (void)gw_map_remove(&sim->calls_out, gw_col64_at(message->finished.attempt, i));
    }
}

/* Uses a hash, so that the random numbers of the rest of the world do not change. */
void sim_recant_begin(struct sim *sim, struct process *process)
{
    if (!process->actor || process->rows.count < 2)
        return;
    struct work *call = process->rows.items[1].work;
    struct client *client = call->job->client;
    if (sim_hash(call->id, 7) % 2 && client->alive && client->conn && !client->conn->cut &&
        !sim->healed)
        sim_request_cancel(sim, client, call->job, call->row, sim_hash(call->id, 8) % 2);
}

static void check(struct sim *sim, const struct host *host)
{
    size_t at = 0;
    uint64_t attempt, actor;
    if (!host->core || !host->scheduler || host->scheduler->id != host->welcomed)
        return;
    while (gw_map_next(&host->recanted, &at, &attempt, &actor)) {
        const struct process *process = long_one(host, actor);
        SIM_CHECK(sim, !process || process->rows.items[0].attempt == attempt || process->reaping,
                  "a call that was cancelled waits for the one before it, which runs long");
    }
}

void sim_recant_long(struct sim *sim, struct process *process)
{
    process->long_attempt = process->rows.items[0].attempt;
    check(sim, process->host);
}

int sim_recant_step(struct sim *sim, struct host *host, struct gw_event *event)
{
    hear(sim, host, event->message);
    int rc = sim_host_step(sim, host, event);
    check(sim, host);
    return rc;
}

void sim_recant_drop(struct host *host)
{
    gw_map_deinit(&host->recanted);
}
