/* Actors. Clients create actors, take handles of other clients' actors, call them and release them.
 * Checks at the start of each call: it runs in the process that created the state; calls of one
 * client run in their order; no call runs twice, except for its own retries. */
#include "tests/sim/sim.h"
#include "tests/sim/world/submission.h"

/* -- Making --------------------------------------------------------------------------------------
 */

void sim_actor_make(struct sim *sim, struct client *client)
{
    struct sim_job *job = sim_job_new(sim, client);
    struct work *work = sim_work_new(sim, job);
    work->makes_actor = true;
    work->run_ns = sim_below(sim, 20 * MS);
    work->retries = (uint32_t)sim_below(sim, 4);
    if (sim_chance(sim, 10))
        work->slots = 2;
    if (sim_chance(sim, 16))
        work->crashes = 1 + (uint32_t)sim_below(sim, 2);
    if (sim_chance(sim, 5))
        work->fails = 1;
    work->deaf = sim_chance(sim, 20);
    sim_submission_chunk(sim, job);
}

/* Gives a call random properties: dependencies, a long run time, a large result, a crash of its
 * actor. */
static void shape_call(struct sim *sim, struct work *call)
{
    call->slots = 0; /* a call runs in its actor's slots */
    call->run_ns = sim_chance(sim, 80) ? 20000 : sim_below(sim, 30 * MS);
    call->target = call->held = sim_chance(sim, 80);
    if (sim_chance(sim, 15))
        sim_work_depend(sim, call);
    if (sim_chance(sim, 15))
        call->bytes = 8 + sim_below(sim, 20000);
    call->retries = sim_chance(sim, 15) ? 1 : 0;
    if (sim_chance(sim, 4))
        call->fails = 1;
    if (sim_chance(sim, 4))
        call->crashes = 1;
    if (sim_chance(sim, 1)) {
        call->hangs = true;
        call->time_limit_ns = 100 * MS;
    }
}

static void call_actor(struct sim *sim, struct client *client, struct work *actor)
{
    struct sim_job *job = sim_job_new(sim, client);
    uint32_t rows = 1 + (uint32_t)sim_below(sim, sim_chance(sim, 20) ? 60 : 6);
    for (uint32_t i = 0; i < rows; i++) {
        struct work *call = sim_work_new(sim, job);
        call->calls = actor;
        shape_call(sim, call);
    }
    sim_submission_chunk(sim, job);
}

/* -- Holding -------------------------------------------------------------------------------------
 */

void sim_actor_accepted(struct sim *sim, struct sim_job *job)
{
    (void)sim;
    if (!job->work.items[0]->makes_actor)
        return;
    job->holds[job->client->number] = true;
    job->held_once = true;
}

bool sim_actor_hold_answered(struct sim *sim, struct client *client, uint64_t request, bool well)
{
    uint64_t id;
    if (!gw_map_get(&client->holding, request, &id))
        return false;
    (void)gw_map_remove(&client->holding, request);
    (void)gw_map_remove(&client->calls, request);
    if (well) {
        sim_fault(sim, FAULT_ACTOR_HOLD);
        sim_work_find(sim, id)->job->holds[client->number] = true;
    }
    return true;
}

static void hold(struct sim *sim, struct client *client, const struct work *actor)
{
    uint64_t request = ++client->next_request;
    GW_MUST(gw_map_put(&client->calls, request, GW_MESSAGE_accepted));
    GW_MUST(gw_map_put(&client->holding, request, actor->id));
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_actor_hold,
                                         .actor_hold = {request, actor->job->id, ""}});
}

static void give_up(struct sim *sim, struct client *client, const struct work *actor)
{
    sim_fault(sim, FAULT_ACTOR_RELEASE);
    actor->job->holds[client->number] = false;
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_actor_release,
                                         .actor_release = {.actor = actor->job->id}});
}

/* Returns a random accepted actor; with `held`, one of which this client has a handle. */
static struct work *some_actor(struct sim *sim, const struct client *client, bool held)
{
    struct work *found = NULL;
    uint32_t count = 0;
    for (size_t i = 0; i < sim->jobs.count; i++) {
        const struct sim_job *job = sim->jobs.items[i];
        if (job->held_once && (!held || job->holds[client->number]) && sim_below(sim, ++count) == 0)
            found = job->work.items[0];
    }
    return found;
}

void sim_actor_act(struct sim *sim, struct client *client)
{
    bool held = sim_chance(sim, 85);
    struct work *actor = some_actor(sim, client, held);
    if (!actor)
        return;
    if (!held) {
        if (!actor->job->holds[client->number] && client->holding.count == 0)
            hold(sim, client, actor);
    } else if (sim_chance(sim, 10)) {
        give_up(sim, client, actor);
    } else {
        call_actor(sim, client, actor);
    }
}

void sim_actor_finish(struct sim *sim, struct client *client)
{
    for (size_t i = 0; i < sim->jobs.count; i++)
        if (sim->jobs.items[i]->holds[client->number] && sim_chance(sim, 50))
            give_up(sim, client, sim->jobs.items[i]->work.items[0]);
}

/* An actor keeps its slot until nobody has a handle. If its calls wait for tasks that need this
 * slot, nothing can end until a client gives a call up. */
bool sim_actor_blocked(const struct sim *sim, const struct sim_job *job)
{
    if (sim->now_ns < sim->healed_ns + 100 * SECOND)
        return false;
    for (size_t i = 0; i < job->work.count; i++) {
        const struct work *call = job->work.items[i];
        for (uint32_t k = 0; call->calls && call->told == TOLD_NOTHING && k < call->dep_count; k++)
            if (call->deps[k].on->ended_well == 0)
                return true;
    }
    return false;
}

/* -- What must hold ------------------------------------------------------------------------------
 */

/* The actor of a failed call may have died for any fault of this world. The simulator checks when a
 * call runs, not whether it runs. In a world without faults no call may fail in this way. */
bool sim_actor_may_fail(struct sim *sim, const struct work *call, int32_t code)
{
    const struct work *actor = call->calls;
    static const enum fault reasons[] = {
        FAULT_ACTOR_DEATH, FAULT_WORKER_KILL, FAULT_CUT,     FAULT_PARTITION,     FAULT_CLIENT_KILL,
        FAULT_CANCEL,      FAULT_TORN_FILE,   FAULT_REVOKED, FAULT_CLIENT_REVOKED};
    bool wrong = actor->crashes || actor->fails || actor->deaths || sim->some_did_not_start;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        wrong = wrong || sim->faults[reasons[i]] > 0;
    /* A client that released the actor and then retries a call is too late. */
    wrong = wrong || (call->job->again && sim->faults[FAULT_ACTOR_RELEASE] > 0);
    if (code == GW_ETASK) /* failures of its actor may have used up its retries */
        return call->fails > 0;
    bool crashes = call->crashes || call->hangs;
    return (wrong || crashes) && (code == GW_EACTOR || code == GW_ECRASHED || code == GW_ELOST);
}

void sim_actor_begin(struct sim *sim, struct process *process)
{
    const struct row *row = &process->rows.items[0];
    struct work *call = row->work;
    uint32_t client = call->job->client->number;
    SIM_CHECK(sim, process->actor == call->calls,
              "call %llu runs in a process that has not its actor", (unsigned long long)call->id);
    if (++call->begun > 1 && call->retries)
        sim_fault(sim, FAULT_CALL_AGAIN);
    SIM_CHECK(sim, call->begun == 1 || call->retries > 0 || call->job->client->retried,
              "call %llu of actor %llu runs a second time", (unsigned long long)call->id,
              (unsigned long long)call->calls->id);
    uint64_t job = call->job->request; /* numbered by the client */
    bool after = job > process->last[client].job ||
                 (job == process->last[client].job && call->row > process->last[client].row);
    bool again = call->given > 1 || call->dep_count > 0 || sim->retried_ns > 0;
    SIM_CHECK(sim, after || again, /* a call whose input was lost also runs again */
              "call %llu runs after one that was made later", (unsigned long long)call->id);
    if (after) {
        process->last[client].job = job;
        process->last[client].row = call->row;
    }
    process->began = row->attempt;
}

/* The scheduler has told this worker that the actor has no handles. No client that knows of a
 * handle may exist. */
static void may_end(struct sim *sim, const struct process *process)
{
    const struct sim_job *job = process->actor->job;
    for (uint32_t i = 0; i < sim->client_count; i++) {
        const struct client *client = &sim->clients[i];
        SIM_CHECK(sim, !job->holds[i] || !client->alive || !client->conn || client->conn->cut,
                  "actor %llu ends, and client %u holds it", (unsigned long long)process->actor->id,
                  i);
    }
}

/* -- In its process ------------------------------------------------------------------------------
 */

/* Reports the calls that ended successfully together. Calls that were not reported when the runner
 * dies are lost. */
void sim_actor_say(struct sim *sim, struct process *process)
{
    enum { ROWS_MAX = 16 };
    uint64_t attempts[ROWS_MAX], bytes[ROWS_MAX], run_ns[ROWS_MAX], tokens[ROWS_MAX];
    uint32_t ranks[ROWS_MAX], sizes[ROWS_MAX], token_count = 0, rows = 0, size = 0;
    static uint8_t data[ROWS_MAX * GW_INLINE_BYTES_MAX];
    memset(data, 0, sizeof data);
    for (; rows < process->unsaid.count; rows++) {
        const struct row *row = &process->unsaid.items[rows];
        uint64_t value = sim_work_value(row->work, 0);
        attempts[rows] = row->attempt;
        ranks[rows] = row->rank;
        bytes[rows] = row->work->bytes;
        run_ns[rows] = row->work->run_ns;
        sizes[rows] = bytes[rows] <= GW_INLINE_BYTES_MAX ? (uint32_t)bytes[rows] : 0;
        if (sizes[rows] == 0)
            tokens[token_count++] = sim_token(sim, value, bytes[rows]);
        else
            memcpy(data + size, &value, sizeof value);
        size += sizes[rows];
    }
    if (rows == 0)
        return;
    gw_array_clear(&process->unsaid);
    struct gw_message message = {.type = GW_MESSAGE_finished};
    message.finished = (struct gw_msg_finished){.attempt = {attempts, rows},
                                                .rank = {ranks, rows},
                                                .bytes = {bytes, rows},
                                                .value_size = {sizes, rows},
                                                .values = {data, size},
                                                .run_ns = {run_ns, rows}};
    sim_process_tell(sim, process, &message, tokens, token_count);
    for (uint32_t i = 0; i < token_count; i++)
        sim_token_drop(sim, tokens[i]);
}

void sim_actor_called(struct sim *sim, struct process *process)
{
    struct row row = process->rows.items[0];
    struct host *host = process->host;
    uint64_t pid = process->pid;
    GW_MUST(gw_array_push(&process->unsaid, row));
    sim_process_pop(process);
    process->epoch++;
    row.work->ended_well++;
    if (process->rows.count == 0 || process->unsaid.count >= 12 || sim_chance(sim, 50))
        sim_actor_say(sim, process);
    if (host->core && (process = sim_process_find(host, pid)) && process->alive)
        sim_process_execute(sim, process);
}

/* The task that creates an actor has finished. */
void sim_actor_ready(struct sim *sim, struct process *process)
{
    struct row row = process->rows.items[0];
    struct gw_message message = {.type = GW_MESSAGE_actor_ready, .actor_ready = {row.attempt}};
    sim_fault(sim, FAULT_ACTOR);
    process->actor = row.work;
    row.work->lives++;
    sim_process_pop(process);
    process->epoch++;
    sim_process_tell(sim, process, &message, NULL, 0);
}

void sim_actor_let_go(struct sim *sim, struct process *process)
{
    sim_fault(sim, FAULT_ACTOR_END);
    SIM_CHECK(sim, process->actor != NULL, "a runner without an actor is to let go of it");
    may_end(sim, process);
    process->letting_go = true;
    sim_process_execute(sim, process);
}
