/* Random requests of clients: submit, wait, fetch, release, cancel, retry, pause, stop and query.
 * At the end clients submit no more jobs, and they cancel tasks that can never end. */
#include "tests/sim/world/request.h"

#include "tests/sim/checks/acknowledgement.h"
#include "tests/sim/checks/ledger.h"
#include "tests/sim/world/scatter.h"
#include "tests/sim/world/submission.h"

static struct sim_job *some_job(struct sim *sim, struct client *client)
{
    struct sim_job *job =
        client->jobs.count ? client->jobs.items[sim_below(sim, client->jobs.count)] : NULL;
    return job && job->accepted && !job->rejected ? job : NULL;
}

static void send_cancel(struct sim *sim, struct client *client, const struct sim_job *job,
                        uint32_t row, bool hard)
{
    uint64_t request = sim_client_call(client, GW_MESSAGE_reply);
    sim_acknowledgement_asked(client, request, job, row);
    sim_client_send(
        sim, client,
        &(struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {request, job->id, row, hard}});
}

static void cancel(struct sim *sim, struct client *client, struct sim_job *job, bool whole)
{
    uint32_t row = (uint32_t)sim_below(sim, job->work.count);
    sim_fault(sim, FAULT_CANCEL);
    job->whole_again = false;
    job->cancelled_since = true;
    if (whole)
        job->cancelled = true;
    else
        job->work.items[row]->cancelled = true;
    row = whole ? GW_INDEX_ALL : row;
    send_cancel(sim, client, job, row, sim_chance(sim, 30));
}

void sim_request_cancel(struct sim *sim, struct client *client, const struct sim_job *job,
                        uint32_t row, bool hard)
{
    sim_fault(sim, FAULT_CANCEL);
    job->work.items[row]->cancelled = true;
    send_cancel(sim, client, job, row, hard);
}

void sim_request_fetch(struct sim *sim, struct client *client, const struct work *work,
                       uint32_t rank)
{
    uint64_t request = sim_client_call(client, GW_MESSAGE_object);
    GW_MUST(gw_map_put(&client->fetching, request, work->id << 8 | rank));
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_fetch,
                                         .fetch = {request, work->job->id, work->row, rank}});
}

void sim_request_release(struct sim *sim, struct client *client, struct work *work)
{
    sim_fault(sim, FAULT_RELEASE);
    work->held = false;
    work->released_ns = sim->now_ns;
    if (work->told == TOLD_NOTHING)
        sim_work_unwanted(work);
    uint32_t rank = 0;
    sim_client_send(
        sim, client,
        &(struct gw_message){.type = GW_MESSAGE_release,
                             .release = {{&work->job->id, 1}, {&work->row, 1}, {&rank, 1}}});
}

void sim_request_mark_again(const struct work *work)
{
    work->job->again = true;
    for (uint32_t i = 0; !work->inputs && i < work->dep_count; i++)
        sim_request_mark_again(work->deps[i].on);
}

static void retry(struct sim *sim, struct client *client, struct work *work)
{
    sim_fault(sim, FAULT_RETRY);
    sim->retried_ns = sim->now_ns;
    uint64_t request = sim_client_call(client, GW_MESSAGE_reply);
    GW_MUST(gw_map_put(&client->retrying, request, work->id));
    work->retried = true;
    sim_request_mark_again(work);
    client->retried = true;
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_retry,
                                         .retry = {request, work->job->id, work->row}});
}

static void ask(struct sim *sim, struct client *client, struct sim_job *job)
{
    static const char *const what[] = {"status", "jobs", "workers", "job", "tasks", "explain"};
    uint8_t arguments[16] = {
        0x81, 0xa3, 'j', 'o', 'b', 0xcd, (uint8_t)(job->id >> 8), (uint8_t)job->id};
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_query,
                                         .query = {sim_client_call(client, GW_MESSAGE_reply),
                                                   what[sim_below(sim, 6)],
                                                   {arguments, 8}}});
}

/* Restarts all running gangs of a job. */
static void restart(struct sim *sim, struct client *client, struct sim_job *job)
{
    bool any = false;
    for (size_t i = 0; i < job->work.count; i++) {
        struct work *work = job->work.items[i];
        work->preempted += work->ranks > 0;
        if (work->twin_of)
            work->twin_of->preempted += work->ranks > 0;
        any = any || work->ranks > 0;
    }
    if (!any)
        return;
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_gang_ask,
                                         .gang_ask = {sim_client_call(client, GW_MESSAGE_reply),
                                                      job->id, GW_ASK_RESTART}});
}

static void ask_gangs(struct sim *sim, struct client *client, struct sim_job *job, uint32_t verb)
{
    sim_client_send(sim, client,
                    &(struct gw_message){
                        .type = GW_MESSAGE_gang_ask,
                        .gang_ask = {sim_client_call(client, GW_MESSAGE_reply), job->id, verb}});
}

/* Returns a job with a running gang, if there is one. */
static struct sim_job *with_gang(struct client *client, struct sim_job *job)
{
    for (size_t i = 0; i < client->jobs.count; i++)
        for (size_t k = 0; k < client->jobs.items[i]->work.count; k++) {
            const struct work *work = client->jobs.items[i]->work.items[k];
            if (work->ranks && work->kind == GW_SPEC_FUNCTION && work->told == TOLD_NOTHING &&
                work->started > work->ended_well && client->jobs.items[i]->accepted)
                return client->jobs.items[i];
        }
    return job;
}

/* Returns true if ranks of the job are returning for a pause. If the client requests a stop now,
 * what they return may be the result. */
static bool is_returning(const struct sim_job *job)
{
    for (size_t i = 0; i < job->work.count; i++)
        if (job->work.items[i]->pausing ||
            (job->work.items[i]->twin_of && job->work.items[i]->twin_of->pausing))
            return true;
    return false;
}

/* A client that pauses a job must live to resume it. A detached job would wait forever. */
static void pause_or_stop(struct sim *sim, struct client *client, struct sim_job *job)
{
    job = with_gang(client, job);
    if (sim_chance(sim, 25)) {
        if (is_returning(job))
            return;
        sim_fault(sim, FAULT_STOP);
        for (size_t i = 0; i < job->work.count; i++) {
            job->work.items[i]->stop = true;
            if (job->work.items[i]->twin_of)
                job->work.items[i]->twin_of->stop = true;
        }
        ask_gangs(sim, client, job, GW_ASK_STOP);
    } else if (!job->detached && !client->work) {
        sim_fault(sim, FAULT_HOLD);
        job->paused = !job->paused;
        ask_gangs(sim, client, job,
                  !job->paused          ? GW_ASK_RESUME
                  : sim_chance(sim, 30) ? GW_ASK_PAUSE_NOW
                                        : GW_ASK_PAUSE);
    }
}

static void read_log(struct sim *sim, struct client *client, struct sim_job *job)
{
    uint32_t row = (uint32_t)sim_below(sim, job->work.count);
    struct gw_message message = {.type = GW_MESSAGE_log_read};
    message.log_read =
        (struct gw_msg_log_read){.request = sim_client_call(client, GW_MESSAGE_log_data),
                                 .job = job->id,
                                 .index = row,
                                 .stream = 1,
                                 .bytes_max = 1000,
                                 .follow = sim_chance(sim, 50)};
    sim_client_send(sim, client, &message);
}

void sim_request_wait(struct sim *sim, struct client *client, struct sim_job *job)
{
    uint64_t request = sim_client_call(client, GW_MESSAGE_reply);
    job->waited = true;
    for (size_t i = 0; i < client->jobs.count && job->range; i++)
        if (client->jobs.items[i] == job)
            GW_MUST(gw_map_put(&client->waiting, request, i));
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_wait, .wait = {request, job->id}});
}

static void act_on_work(struct sim *sim, struct client *client, struct work *work)
{
    if (work->told == TOLD_DONE && work->held && sim_chance(sim, 40)) {
        if (work->bytes > GW_INLINE_BYTES_MAX && sim_chance(sim, 50))
            sim_replica_ask(sim, client,
                            work); /* copies of a result that may be released before they exist */
        sim_request_release(sim, client, work);
    } else if (work->told == TOLD_DONE && work->held) {
        uint32_t ranks = sim_work_least(work);
        sim_request_fetch(sim, client, work, (uint32_t)sim_below(sim, ranks));
    } else if (work->told == TOLD_FAILED && work->held && !work->retried && !work->infeasible &&
               sim_chance(sim, 50)) {
        retry(sim, client, work);
    } else if (work->held && work->told == TOLD_NOTHING &&
               sim_chance(sim, work->job->range ? 20 : 6)) {
        sim_request_release(sim, client, work);
    }
}

/* Returns a random job if it is an open stream. */
static struct sim_job *some_stream(struct sim *sim, struct client *client)
{
    struct sim_job *job =
        client->jobs.count ? client->jobs.items[sim_below(sim, client->jobs.count)] : NULL;
    return job && job->opened && !job->accepted && !job->rejected ? job : NULL;
}

/* Requests something for another user's job. An admin is allowed to. */
static void reach_over(struct sim *sim, struct client *client)
{
    struct client *other = &sim->clients[sim_below(sim, sim->client_count)];
    struct sim_job *job = some_job(sim, other);
    if (!client->admin) {
        sim_trespass_act(sim, client);
    } else if (job && other->uid != client->uid && other->alive && sim_chance(sim, 30)) {
        sim_fault(sim, FAULT_ADMIN);
        cancel(sim, client, job, true);
    }
}

/* Most streams continue only after all tasks that they have sent have ended. */
static bool waits_for_results(const struct sim *sim, const struct sim_job *job)
{
    bool waits = false;
    if (!job->stream || job->rejected || sim_hash(job->work.items[0]->id, sim->seed) % 3 == 0)
        return false;
    for (uint32_t i = 0; i < job->sent; i++) {
        const struct work *work = job->work.items[i];
        if (sim_share_endless(work))
            return false;
        waits = waits || (work->held && work->told == TOLD_NOTHING);
    }
    return waits;
}

static void act(struct sim *sim, struct client *client)
{
    for (size_t i = 0; i < client->jobs.count; i++) {
        struct sim_job *job = client->jobs.items[i];
        if ((job->stream && sim_chance(sim, 50)) || waits_for_results(sim, job))
            continue;
        if (job->sent < job->work.count && !job->rejected) {
            sim_submission_chunk(sim, job);
            return;
        }
    }
    uint64_t what = sim_below(sim, 100);
    struct sim_job *job = some_job(sim, client);
    struct sim_job *open = some_stream(sim, client);
    if (open && open->sent > 0 && what >= 25 && what < 45) {
        struct work *work = open->work.items[sim_below(sim, open->sent)];
        if (work->target)
            act_on_work(sim, client, work);
        return;
    }
    if (what < 25 && client->to_submit > 0) {
        client->to_submit--;
        if (sim_chance(sim, 15))
            sim_actor_make(sim, client);
        else if (sim_chance(sim, 12))
            sim_job_scatter(sim, client);
        else if (sim_chance(sim, 20))
            sim_submission_range(sim, sim_job_make_range(sim, client));
        else
            sim_submission_chunk(sim, sim_job_make(sim, client));
    } else if (!job || what < 40) {
        sim_actor_act(sim, client);
    } else if (what < 65) {
        struct work *work = job->work.items[sim_below(sim, job->work.count)];
        if (work->target)
            act_on_work(sim, client, work);
    } else if (what < 70) {
        cancel(sim, client, job, sim_chance(sim, 30));
    } else if (what < 74) {
        restart(sim, client, job);
    } else if (what < 79) {
        pause_or_stop(sim, client, job);
    } else if (what < 81) {
        ask(sim, client, job);
    } else if (what < 83) {
        read_log(sim, client, job);
    } else if (what < 86) {
        sim_tunnel_act(sim, client, job);
    } else if (what < 89 && !job->waited) {
        sim_request_wait(sim, client, job);
    } else if (what < 92) {
        reach_over(sim, client);
    } else {
        sim_share_act(sim, client);
    }
}

static void on_act(struct sim *sim, void *arg)
{
    struct client *client = arg;
    if (!client->alive || client->quiet)
        return;
    if (client->welcomed && sim_chance(sim, 15))
        sim_sync_act(sim, client);
    else if (client->welcomed)
        act(sim, client);
    sim_plan(sim, MS + sim_below(sim, 40 * MS), on_act, client);
}

void sim_request_begin(struct sim *sim, struct client *client)
{
    sim_plan(sim, sim_below(sim, 300 * MS), on_act, client);
}

/* From now on the client submits no jobs, and it cancels tasks that can never end. */
void sim_request_finish(struct sim *sim, struct client *client)
{
    client->quiet = true;
    if (!client->alive)
        return;
    while (client->leases > 0)
        sim_sync_release(sim, client);
    sim_actor_finish(sim, client);
    for (size_t i = 0; i < client->jobs.count; i++) {
        struct sim_job *job = client->jobs.items[i];
        while (job->sent < job->work.count && !job->rejected && !waits_for_results(sim, job))
            sim_submission_chunk(sim, job);
        if (job->paused)
            ask_gangs(sim, client, job, GW_ASK_RESUME);
        job->paused = false;
        for (size_t k = 0; job->range && k < job->work.count; k++)
            if (job->work.items[k]->held && job->work.items[k]->told != TOLD_NOTHING)
                sim_request_release(sim, client, job->work.items[k]);
        bool endless = job->infeasible || sim_actor_blocked(sim, job);
        for (size_t k = 0; k < job->work.count; k++)
            endless = endless || (job->work.items[k]->hangs && !job->work.items[k]->time_limit_ns);
        if (endless && !job->rejected && job->accepted)
            cancel(sim, client, job, true);
    }
}
