/* Drained workers. From the scheduler's answer to an admin on, nothing is placed on a drained
 * worker, in all terms of the scheduler and incarnations of the worker, until the admin undrains
 * it. Work that runs there at the deadline is ended. When everything heals, all workers are
 * undrained.
 *
 * The admin is beside the scheduler: no fault of the network happens to its connection. */
#include "tests/sim/faults/worker_drain.h"

#include "tests/sim/faults/crash_time.h"

#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/state.h"

enum { DRAINS_PERCENT = 12, GRACE_MS_MAX = 200 };
#define ADMIN_PEER (UINT64_MAX / 2)

enum drained { FREE, DRAINED, UNSURE /* sent, and not answered */ };

struct sim_worker_drains {
    uint64_t peer; /* of the admin's connection; 0: it has none */
    uint64_t peers;
    bool asks; /* the admin waits for an answer */
    uint32_t host;
    bool drain;
    enum drained drained[HOSTS_MAX];
    uint64_t term[HOSTS_MAX], incarnation[HOSTS_MAX]; /* in which it was drained */
};

static bool have_one_name(const struct host *a, const struct host *b)
{
    return strcmp(a->worker_name, b->worker_name) == 0;
}

static void set(struct sim *sim, uint32_t number, enum drained drained)
{
    for (uint32_t i = 0; i < sim->host_count; i++)
        if (have_one_name(&sim->hosts[i], &sim->hosts[number]))
            sim->worker_drains->drained[i] = drained;
}

void sim_worker_drain_free(struct sim *sim)
{
    free(sim->worker_drains);
    sim->worker_drains = NULL;
}

void sim_worker_drain_crashed(struct sim *sim)
{
    if (!sim->worker_drains)
        return;
    sim->worker_drains->peer = 0;
    sim->worker_drains->asks = false;
}

void sim_worker_drain_told(struct sim *sim, uint64_t peer, const struct gw_message *message)
{
    struct sim_worker_drains *drains = sim->worker_drains;
    if (!drains || peer != drains->peer || message->type != GW_MESSAGE_reply)
        return;
    sim_log(sim, "host %u: %s, answer %d", drains->host, drains->drain ? "drained" : "undrained",
            message->reply.code);
    drains->asks = false;
    SIM_CHECK(sim,
              message->reply.code == 0 || !drains->drain || !sim->hosts[drains->host].core ||
                  message->reply.code == GW_ENOENT,
              "an admin cannot drain a worker: %d", message->reply.code);
    if (message->reply.code == 0 && drains->drain) {
        sim_fault(sim, FAULT_WORKER_DRAINED);
        drains->term[drains->host] = gw_sched_term(sim->sched);
        drains->incarnation[drains->host] = sim->hosts[drains->host].incarnation;
    }
    if (message->reply.code == 0 || !drains->drain)
        set(sim, drains->host, drains->drain ? DRAINED : FREE);
}

void sim_worker_drain_assigned(struct sim *sim, const struct host *host,
                               const struct gw_msg_assign *assign)
{
    if (!sim->worker_drains || !host || sim->worker_drains->drained[host->number] != DRAINED)
        return;
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        const struct gw_job *job = gw_sched_job_find(sim->sched, gw_col64_at(assign->job, i));
        SIM_CHECK(sim, job && job->calls_of, "attempt %llx is placed at host %u, which is drained",
                  (unsigned long long)gw_col64_at(assign->attempt, i), host->number);
    }
}

/* The admin connects, asks, and stays until it is answered. */
static void ask_worker(struct sim *sim, uint32_t number, bool drain, uint64_t deadline_ns)
{
    struct sim_worker_drains *drains = sim->worker_drains;
    const struct gw_message message = {.type = GW_MESSAGE_worker_ask,
                                       .sequence = 1,
                                       .worker_ask = {.request = 1,
                                                      .name = sim->hosts[number].worker_name,
                                                      .drain = drain,
                                                      .why = "",
                                                      .deadline_ns = deadline_ns}};
    drains->peer = ADMIN_PEER + ++drains->peers;
    drains->host = number;
    drains->drain = drain;
    drains->asks = true;
    set(sim, number, UNSURE);
    (void)sim_sched_step(sim, &(struct gw_event){.type = GW_EVENT_OPEN,
                                                 .peer = {drains->peer},
                                                 .role = GW_ROLE_CLIENT,
                                                 .admin = true,
                                                 .text = "admin"});
    (void)sim_sched_step(
        sim,
        &(struct gw_event){.type = GW_EVENT_MESSAGE, .peer = {drains->peer}, .message = &message});
}

/* Counts a worker that is drained in another term or incarnation, and attempts after a deadline. */
static void count_faults(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->host_count; i++) {
        const struct sim_worker_drains *drains = sim->worker_drains;
        if (drains->drained[i] == DRAINED && drains->term[i] &&
            (drains->term[i] != gw_sched_term(sim->sched) ||
             drains->incarnation[i] != sim->hosts[i].incarnation))
            sim_fault(sim, FAULT_WORKER_STILL_DRAINED);
    }
    for (size_t i = 0; i < sim->sched->workers.count; i++) {
        const struct gw_worker *worker = sim->sched->workers.items[i];
        for (uint32_t slot = worker ? worker->first : GW_NO_INDEX; slot != GW_NO_INDEX;
             slot = sim->sched->attempts.items[slot].next)
            if (sim->sched->attempts.items[slot].drain_ends)
                sim_fault(sim, FAULT_WORKER_DRAIN_ENDS);
    }
}

static void on_admin(struct sim *sim, void *arg)
{
    struct sim_worker_drains *drains = sim->worker_drains;
    const uint64_t chance = sim_hash(sim->now_ns ^ sim->seed, 711);
    uint32_t number = chance % sim->host_count;
    (void)arg;
    if (sim_crash_down(sim)) {
        sim_plan(sim, 100 * MS, on_admin, NULL);
        return;
    }
    count_faults(sim);
    if (drains->peer && !drains->asks) {
        (void)sim_sched_step(sim,
                             &(struct gw_event){.type = GW_EVENT_CLOSE, .peer = {drains->peer}});
        drains->peer = 0;
    }
    for (uint32_t i = 0; sim->healed && i < sim->host_count; i++)
        if (drains->drained[i] != FREE)
            number = i;
    if (sim->healed && drains->drained[number] == FREE)
        return;
    const bool drain = !sim->healed && drains->drained[number] == FREE;
    const uint64_t deadline_ns =
        (chance >> 8) % 2 ? (chance >> 16) % GRACE_MS_MAX * MS : UINT64_MAX;
    if (!drains->peer)
        ask_worker(sim, number, drain, deadline_ns);
    sim_plan(sim, 50 * MS + (chance >> 24) % (300 * MS), on_admin, NULL);
}

/* Uses a hash, so that the random numbers of other seeds do not change. */
void sim_worker_drain_plan(struct sim *sim)
{
    if (sim_hash(sim->seed, 713) % 100 >= DRAINS_PERCENT)
        return;
    GW_MUST_PTR(sim->worker_drains = calloc(1, sizeof *sim->worker_drains));
    sim_plan(sim, 100 * MS, on_admin, NULL);
}
