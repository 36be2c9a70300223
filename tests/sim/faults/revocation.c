/* Tokens of workers and clients that are revoked. The connection closes immediately, and messages
 * on their way are dropped.
 *
 * A worker whose token was revoked, or that is refused, ends. Its next incarnation has another
 * token. The end of its tasks counts against no budget (charge.c checks the facts of that step),
 * and no task may end successfully by one of its attempts, even if the scheduler dies directly
 * afterwards. The jobs that only a revoked client holds are cancelled. */
#include "tests/sim/faults/revocation.h"

#include "tests/sim/checks/ledger.h"
#include "tests/sim/faults/crash_time.h"

enum { REVOKES_PERCENT = 20, CRASH_PERCENT = 40, CLIENT_PERCENT = 30 };

struct sim_revocations {
    struct gw_map placed;  /* attempt (of no gang) -> incarnation of its host */
    struct gw_map revoked; /* incarnations of hosts */
    bool client;           /* the token of a client was revoked */
};

/* -- Workers -------------------------------------------------------------------------------------
 */

bool sim_revocation_of(const struct sim *sim, uint64_t incarnation)
{
    return sim->revocations && gw_map_get(&sim->revocations->revoked, incarnation, NULL);
}

bool sim_revocation_refuses(struct sim *sim, struct host *host)
{
    if (!sim_revocation_of(sim, host->incarnation))
        return false;
    sim_fault(sim, FAULT_REVOKED_ENDS);
    sim_host_end(sim, host);
    return true;
}

void sim_revocation_assigned(struct sim *sim, const struct conn *conn,
                             const struct gw_msg_assign *assign)
{
    const struct host *host = conn->ends[1].host;
    if (!sim->revocations || !host)
        return;
    for (uint32_t i = 0; i < assign->attempt.count; i++)
        if (gw_col32_at(assign->rank, i) == GW_RANK_NONE)
            GW_MUST(gw_map_put(&sim->revocations->placed, gw_col64_at(assign->attempt, i),
                               conn->ends[1].incarnation));
}

void sim_revocation_ended(struct sim *sim, uint64_t attempt)
{
    uint64_t life;
    if (!sim->revocations || !gw_map_get(&sim->revocations->placed, attempt, &life))
        return;
    SIM_CHECK(sim, !sim_revocation_of(sim, life),
              "attempt %llx ends well at a worker whose token was revoked",
              (unsigned long long)attempt);
}

/* The scheduler closes the connection with the reason. */
static void close_revoked(struct sim *sim, struct conn *conn)
{
    conn->ends[0].open = false;
    sim->revoking = true;
    (void)sim_sched_step(sim, &(struct gw_event){.type = GW_EVENT_CLOSE,
                                                 .peer = {conn->ends[0].peer},
                                                 .code = GW_EPERM,
                                                 .text = "the token was revoked"});
    sim->revoking = false;
    sim_close(sim, conn, 0);
}

static void revoke_worker(struct sim *sim, struct host *host)
{
    sim_fault(sim, FAULT_REVOKED);
    if (host->scheduler->held_until_ns > sim->now_ns) /* it waits to reconnect */
        sim_fault(sim, FAULT_REVOKED_BROKEN);
    sim_log(sim, "the token of host %u is revoked", host->number);
    GW_MUST(gw_map_put(&sim->revocations->revoked, host->incarnation, 1));
    close_revoked(sim, host->scheduler);
}

/* -- Clients -------------------------------------------------------------------------------------
 */

/* Returns true if no other client can need or hold anything of the job. */
static bool is_its_alone(const struct sim *sim, const struct sim_job *job)
{
    if (!job->accepted || job->rejected || job->detached || job->pure || job->scattered ||
        sim_ledger_publishes(sim, job))
        return false;
    for (size_t i = 0; i < job->work.count; i++)
        if (job->work.items[i]->makes_actor || job->work.items[i]->calls)
            return false;
    for (uint32_t i = 0; i < sim->client_count; i++)
        for (size_t k = 0; k < sim->clients[i].shares.count; k++) {
            const struct share *share = sim->clients[i].shares.items[k];
            if (!share->promised || share->promised->job == job)
                return false;
        }
    for (size_t i = 0; i < sim->work.count; i++)
        for (uint32_t k = 0; k < sim->work.items[i]->dep_count; k++)
            if (sim->work.items[i]->deps[k].on->job == job && sim->work.items[i]->job != job)
                return false;
    return true;
}

static const char *state_in(const struct gw_value *tasks, size_t at)
{
    const char *state = "";
    (void)gw_value_get_str(gw_value_find(gw_value_at(tasks, at), "state"), &state, NULL);
    return state;
}

/* A task that waits for a task which is being cancelled is cancelled with it. */
static void check_gone(struct sim *sim, const struct sim_job *job)
{
    struct gw_value *arguments = gw_dict(), *tasks = NULL;
    bool ends = false;
    GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)job->id)));
    (void)gw_sched_query(sim->sched, "tasks", arguments, &tasks, NULL);
    for (size_t i = 0; tasks && i < gw_value_count(tasks); i++)
        ends = ends || strcmp(state_in(tasks, i), "cancelling") == 0;
    for (size_t i = 0; tasks && !ends && i < gw_value_count(tasks); i++) {
        const char *state = state_in(tasks, i);
        SIM_CHECK(sim,
                  strcmp(state, "waiting") != 0 && strcmp(state, "ready") != 0 &&
                      strcmp(state, "placed") != 0,
                  "task %zu of job %llu is %s, and the token of its client was revoked", i,
                  (unsigned long long)job->id, state);
    }
    gw_value_unref(tasks);
    gw_value_unref(arguments);
}

static void revoke_client(struct sim *sim, struct client *client)
{
    sim_fault(sim, FAULT_CLIENT_REVOKED);
    sim_log(sim, "the token of client %u is revoked", client->number);
    sim->revocations->client = true;
    struct conn *conn = client->conn;
    client->alive = false; /* what it holds belongs to others from now on */
    client->conn = NULL;
    sim_sync_end(sim, client);
    close_revoked(sim, conn);
    for (size_t i = 0; i < client->jobs.count; i++)
        if (is_its_alone(sim, client->jobs.items[i]))
            check_gone(sim, client->jobs.items[i]);
}

/* -- When ----------------------------------------------------------------------------------------
 */

static bool may_close(const struct conn *conn)
{
    return conn && !conn->cut && conn->ends[0].open && conn->ends[1].open;
}

/* Uses a hash, so that the random numbers of other seeds do not change. */
static void on_revoke(struct sim *sim, void *arg)
{
    const uint64_t chance = sim_hash(sim->now_ns ^ sim->seed, 741);
    struct host *host = &sim->hosts[chance % sim->host_count];
    struct client *client = &sim->clients[(chance >> 8) % sim->client_count];
    (void)arg;
    if (sim->healed)
        return;
    sim_plan(sim, 100 * MS + (chance >> 24) % SECOND, on_revoke, NULL);
    if (sim_crash_down(sim))
        return;
    if (!sim->revocations->client && (chance >> 16) % 100 < CLIENT_PERCENT) {
        if (client->alive && client->welcomed && may_close(client->conn))
            revoke_client(sim, client);
    } else if (host->core && host->scheduler && host->welcomed == host->scheduler->id &&
               may_close(host->scheduler)) {
        revoke_worker(sim, host);
        if ((chance >> 32) % 100 < CRASH_PERCENT)
            sim_crash_soon(sim, (chance >> 40) % (5 * MS));
    }
}

void sim_revocation_plan(struct sim *sim)
{
    if (sim_hash(sim->seed, 744) % 100 >= REVOKES_PERCENT)
        return;
    GW_MUST_PTR(sim->revocations = calloc(1, sizeof *sim->revocations));
    sim_plan(sim, 200 * MS, on_revoke, NULL);
}

void sim_revocation_free(struct sim *sim)
{
    if (sim->revocations) {
        gw_map_deinit(&sim->revocations->placed);
        gw_map_deinit(&sim->revocations->revoked);
    }
    free(sim->revocations);
    sim->revocations = NULL;
}
