/* Clients: they submit, wait, fetch, give up, cancel, retry, and die; and they check what they are
 * told: each target ends once, with the right value or for a reason that there was. */
#include "tests/sim/ledger.h"
#include "tests/sim/nested.h"
#include "tests/sim/range.h"
#include "tests/sim/receipt.h"
#include "tests/sim/scatter.h"
#include "tests/sim/submission.h"

#include "graph/wire/codec.h"

#define RELEASED_NS (200 * MS) /* longer than two messages take */

void sim_client_send(struct sim *sim, struct client *client, const struct gw_message *message)
{
    sim_client_send_with(sim, client, message, 0);
}

void sim_client_send_with(struct sim *sim, struct client *client, const struct gw_message *message,
                          uint64_t token)
{
    struct gw_effect effect = {.message = *message, .tokens = &token, .token_count = token != 0};
    effect.message.term = client->term;
    effect.message.peer = client->session;
    effect.message.sequence = ++client->sent;
    if (client->conn)
        sim_send(sim, client->conn, 1, &effect);
}

/* A number for a call whose answer is awaited. */
uint64_t sim_client_call(struct client *client, uint32_t answer)
{
    uint64_t request = ++client->next_request;
    GW_MUST(gw_map_put(&client->calls, request, answer));
    return request;
}

static struct sim_job *some_job(struct sim *sim, struct client *client)
{
    struct sim_job *job =
        client->jobs.count ? client->jobs.items[sim_below(sim, client->jobs.count)] : NULL;
    return job && job->accepted && !job->rejected ? job : NULL;
}

/* -- Doing ---------------------------------------------------------------------------------------
 */

static void mark_cancelled(struct sim *sim, const struct work *work)
{
    (void)sim;
    ((struct work *)(uintptr_t)work)->cancelled = true;
}

static void send_cancel(struct sim *sim, struct client *client, const struct sim_job *job,
                        uint32_t row, bool hard)
{
    uint64_t request = sim_client_call(client, GW_MESSAGE_reply);
    sim_receipt_asked(client, request, job, row);
    sim_client_send(
        sim, client,
        &(struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {request, job->id, row, hard}});
}

static void cancel(struct sim *sim, struct client *client, struct sim_job *job, bool whole)
{
    uint32_t row = (uint32_t)sim_below(sim, job->work.count);
    sim_fault(sim, FAULT_CANCEL);
    job->whole_again = false;
    if (whole)
        job->cancelled = true;
    else
        mark_cancelled(sim, job->work.items[row]);
    row = whole ? GW_INDEX_ALL : row;
    send_cancel(sim, client, job, row, sim_chance(sim, 30));
}

void sim_client_cancel(struct sim *sim, struct client *client, const struct sim_job *job,
                       uint32_t row, bool hard)
{
    sim_fault(sim, FAULT_CANCEL);
    mark_cancelled(sim, job->work.items[row]);
    send_cancel(sim, client, job, row, hard);
}

void sim_client_fetch(struct sim *sim, struct client *client, const struct work *work,
                      uint32_t rank)
{
    uint64_t request = sim_client_call(client, GW_MESSAGE_object);
    GW_MUST(gw_map_put(&client->fetching, request, work->id << 8 | rank));
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_fetch,
                                         .fetch = {request, work->job->id, work->row, rank}});
}

static void release(struct sim *sim, struct client *client, struct work *work)
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

/* What failed before it, in other jobs too, runs again with it. */
static void mark_again(const struct work *work)
{
    work->job->again = true;
    for (uint32_t i = 0; !work->inputs && i < work->dep_count; i++)
        mark_again(work->deps[i].on);
}

static void retry(struct sim *sim, struct client *client, struct work *work)
{
    sim_fault(sim, FAULT_RETRY);
    sim->retried_ns = sim->now_ns;
    uint64_t request = sim_client_call(client, GW_MESSAGE_reply);
    GW_MUST(gw_map_put(&client->retrying, request, work->id));
    work->retried = true;
    mark_again(work);
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

/* All gangs of a job that run start again. */
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

/* A job of which a gang runs, if there is one. */
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

/* Who asks a gang to stop as it returns for a pause may have what that gave as its result. */
static bool is_returning(const struct sim_job *job)
{
    for (size_t i = 0; i < job->work.count; i++)
        if (job->work.items[i]->pausing ||
            (job->work.items[i]->twin_of && job->work.items[i]->twin_of->pausing))
            return true;
    return false;
}

/* Whoever pauses a job lives to have it go on: one that is detached would wait for ever. */
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

static void wait_for(struct sim *sim, struct client *client, struct sim_job *job)
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
            sim_replica_ask(sim, client, work); /* copies that nobody wants when they come */
        release(sim, client, work);
    } else if (work->told == TOLD_DONE && work->held) {
        uint32_t ranks = sim_work_least(work);
        sim_client_fetch(sim, client, work, (uint32_t)sim_below(sim, ranks));
    } else if (work->told == TOLD_FAILED && work->held && !work->retried && !work->infeasible &&
               sim_chance(sim, 50)) {
        retry(sim, client, work);
    } else if (work->held && work->told == TOLD_NOTHING &&
               sim_chance(sim, work->job->range ? 20 : 6)) {
        release(sim, client, work);
    }
}

/* A stream that is open, if the job that comes to hand is one. */
static struct sim_job *some_stream(struct sim *sim, struct client *client)
{
    struct sim_job *job =
        client->jobs.count ? client->jobs.items[sim_below(sim, client->jobs.count)] : NULL;
    return job && job->opened && !job->accepted && !job->rejected ? job : NULL;
}

/* For what is another user's: an admin may. */
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

/* Most streams go on when what they have sent before has ended. */
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
        wait_for(sim, client, job);
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
    if (client->greeted && sim_chance(sim, 15))
        sim_sync_act(sim, client);
    else if (client->greeted)
        act(sim, client);
    sim_plan(sim, MS + sim_below(sim, 40 * MS), on_act, client);
}

/* -- Being told ----------------------------------------------------------------------------------
 */

struct sim_job *sim_client_job(struct sim *sim, const struct client *client, uint64_t request)
{
    for (size_t i = 0; i < client->jobs.count; i++)
        if (client->jobs.items[i]->request == request)
            return client->jobs.items[i];
    sim_fail(sim, "client %u is told of a job that it did not submit", client->number);
}

/* The task that a row of `done`, or a `failed`, is about. */
static struct work *end_of(struct sim *sim, const struct client *client, uint64_t request,
                           uint32_t index)
{
    const struct share *share = sim_share_find(client, request);
    struct work *work =
        share ? share->work : sim_client_job(sim, client, request)->work.items[index];
    SIM_CHECK(sim, work, "told of the end before what was found");
    return work;
}

/* Nothing is told of what was given up, once the scheduler has heard of that. */
static void check_wanted(struct sim *sim, const struct work *work)
{
    SIM_CHECK(
        sim, work->held || work->job->detached || sim->now_ns < work->released_ns + RELEASED_NS,
        "target %llu was given up long ago, and its end is told", (unsigned long long)work->id);
}

/* What failed may end once more where it, or what needs it or its like, was retried. */
static void forget_failure(const struct sim *sim, struct work *work)
{
    bool again = work->job->again || (work->job->pure && sim->retried_ns);
    if (work->told != TOLD_FAILED || !again)
        return;
    work->told = TOLD_NOTHING;
    work->ranks_told = 0;
}

static void take_done_own(struct sim *sim, struct work *work, uint32_t rank)
{
    check_wanted(sim, work);
    forget_failure(sim, work);
    SIM_CHECK(sim, work->target && !work->job->rejected, "told of a task that is no target");
    SIM_CHECK(sim, work->told != TOLD_FAILED && !(work->ranks_told & 1u << rank),
              "target %llu (rank %u) ends twice", (unsigned long long)work->id, rank);
    work->ranks_told |= 1u << rank;
    work->told = TOLD_DONE;
}

/* Results of a range are taken sooner or later; until then no more come than it lets. */
static void take_of_range(struct sim *sim, struct client *client, struct work *work)
{
    struct sim_job *job = work->job;
    uint32_t waiting = 0;
    if (!job->range)
        return;
    for (size_t i = 0; i < job->work.count; i++)
        waiting += job->work.items[i]->held && job->work.items[i]->told != TOLD_NOTHING;
    SIM_CHECK(sim, waiting <= job->ahead, "a range is %u results ahead, not %u", waiting,
              job->ahead);
    if (waiting == job->ahead)
        sim_fault(sim, FAULT_AHEAD);
    if (work->held && (client->quiet || sim_chance(sim, 70)))
        release(sim, client, work);
}

static void take_done(struct sim *sim, struct client *client, const struct gw_msg_done *done)
{
    const uint8_t *values = done->values.data;
    for (uint32_t i = 0; i < done->request.count; i++) {
        uint32_t rank = gw_col32_at(done->rank, i), size = gw_col32_at(done->value_size, i);
        uint64_t request = gw_col64_at(done->request, i);
        rank = rank == GW_RANK_NONE ? 0 : rank;
        struct work *work = end_of(sim, client, request, gw_col32_at(done->index, i));
        struct share *share = sim_share_find(client, request);
        if (share)
            sim_share_told(sim, share, TOLD_DONE, rank);
        else
            take_done_own(sim, work, rank);
        take_of_range(sim, client, work);
        bool lacks = sim_elastic_lacks(work, rank, size);
        SIM_CHECK(sim, lacks || gw_col64_at(done->bytes, i) == work->bytes,
                  "a value of another size");
        if (size >= 8) {
            uint64_t value;
            memcpy(&value, values, sizeof value);
            SIM_CHECK(sim, value == sim_work_value(work, rank), "target %llu has a wrong value",
                      (unsigned long long)work->id);
        }
        values += size;
    }
}

static void take_failed(struct sim *sim, struct client *client, const struct gw_msg_failed *failed)
{
    struct work *work = end_of(sim, client, failed->request, failed->index);
    struct share *share = sim_share_find(client, failed->request);
    if (share)
        sim_share_told(sim, share, TOLD_FAILED, 0);
    else
        forget_failure(sim, work);
    SIM_CHECK(sim, share || (work->target && work->told == TOLD_NOTHING && !work->job->rejected),
              "target %llu ends twice", (unsigned long long)work->id);
    /* What nobody held may have been cancelled with what needed it, before it was looked up. */
    bool unwanted = share && failed->code == GW_ECANCELLED && !work->held;
    SIM_CHECK(sim, unwanted || sim_work_may_fail(sim, work, failed->code),
              "target %llu fails for no reason: %s: %s", (unsigned long long)work->id,
              gw_error_name(failed->code), failed->text);
    SIM_CHECK(sim, *failed->text, "a failure without a text");
    if (share)
        return;
    check_wanted(sim, work);
    if (strstr(failed->text, "silent"))
        sim_fault(sim, FAULT_SILENT);
    work->told = TOLD_FAILED;
    if (failed->code == GW_ECRASHED && work->ranks)
        sim_hang_told(sim, work->twin_of ? work->twin_of : work, failed->text);
    if (failed->code == GW_ELOST && work->losses_max)
        sim_fault(sim, FAULT_LOSSES);
    work->code = failed->code;
    take_of_range(sim, client, work);
}

static void take_failures(struct sim *sim, struct client *client,
                          const struct gw_msg_failed *message)
{
    struct gw_msg_failed one = *message;
    take_failed(sim, client, &one);
    for (uint32_t i = 0; i < message->more.count; i++) {
        one.index = gw_col32_at(message->more, i);
        take_failed(sim, client, &one);
    }
}

static void take_object(struct sim *sim, struct client *client, const struct gw_msg_object *object,
                        const struct packet *packet)
{
    uint64_t id, value = 0;
    bool known = gw_map_get(&client->fetching, object->request, &id);
    SIM_CHECK(sim, known, "an object that nobody asked for");
    (void)gw_map_remove(&client->fetching, object->request);
    const struct work *work = sim_work_find(sim, id >> 8);
    bool held = sim_share_holds(client, work) ||
                (work->held && work->told == TOLD_DONE && work->job->client == client);
    SIM_CHECK(sim, object->code != GW_ENOENT || !held,
              "the result of task %llu is gone, and client %u holds it",
              (unsigned long long)work->id, client->number);
    if (object->code < 0)
        return; /* it was given up, or made again and failed */
    if (packet->token_count)
        value = sim_token_content(sim, packet->tokens[0]);
    else if (object->value.size >= 8)
        memcpy(&value, object->value.data, sizeof value);
    else
        value = sim_work_value(work, 0);
    SIM_CHECK(sim, value == sim_work_value(work, (uint32_t)(id & 0xff)),
              "a fetched value of task %llu is wrong", (unsigned long long)work->id);
}

static void answered(struct sim *sim, struct client *client, uint64_t request, uint32_t type)
{
    uint64_t answer;
    bool known = gw_map_get(&client->calls, request, &answer);
    SIM_CHECK(sim, known && answer == type, "an answer to no call (%s)", gw_message_name(type));
    (void)gw_map_remove(&client->calls, request);
}

static void take_reply(struct sim *sim, struct client *client, const struct gw_msg_reply *reply)
{
    uint64_t id;
    answered(sim, client, reply->request, GW_MESSAGE_reply);
    sim_trespass_answered(sim, client, reply);
    if (gw_map_get(&client->waiting, reply->request, &id))
        sim_range_over(sim, client, client->jobs.items[id], reply);
    if (sim_range_again(sim, client, reply, &id))
        wait_for(sim, client, client->jobs.items[id]);
    if (!gw_map_get(&client->retrying, reply->request, &id))
        return;
    (void)gw_map_remove(&client->retrying, reply->request);
    sim->retried_ns = sim->now_ns;
    if (reply->code < 0)
        return;
    struct work *work = sim_work_find(sim, id);
    work->told = TOLD_NOTHING;
    work->ranks_told = 0;
}

static void take_accepted(struct sim *sim, struct client *client,
                          const struct gw_msg_accepted *accepted)
{
    if (sim_actor_hold_answered(sim, client, accepted->request, true))
        return;
    struct sim_job *job = sim_client_job(sim, client, accepted->request);
    SIM_CHECK(sim, !job->accepted && !job->rejected, "a job is accepted twice");
    job->accepted = true;
    job->id = accepted->job;
    if (job->scattered)
        sim_scatter_accepted(sim);
    sim_actor_accepted(sim, job);
    if (job->range)
        wait_for(sim, client, job);
    if (job->pure)
        sim_work_count_shared(sim, job);
}

static void take_opened(struct sim *sim, struct client *client, const struct gw_msg_opened *opened)
{
    struct sim_job *job = sim_client_job(sim, client, opened->request);
    SIM_CHECK(sim, job->stream && !job->opened && !job->accepted, "a stream is opened twice");
    job->opened = true;
    job->id = opened->job;
}

static void take_rejected(struct sim *sim, struct client *client,
                          const struct gw_msg_rejected *rejected)
{
    if (sim_actor_hold_answered(sim, client, rejected->request, false))
        return;
    struct sim_job *job = sim_client_job(sim, client, rejected->request);
    if (job->work.items[0]->calls && rejected->code == GW_EACTOR) {
        job->rejected = true; /* the actor had ended, and was forgotten */
        return;
    }
    bool large = false, unknown = false; /* for the workers that there are at the moment */
    for (size_t i = 0; i < job->work.count; i++) {
        const struct work *work = job->work.items[i];
        large = large || work->ranks > 0 || work->slots > 1 || work->licenses || *work->on ||
                sim_disk_declared(sim, work) || work->gpus > WORK_GPU_IF_ANY;
        unknown = unknown || (*work->on && !work->prefers);
    }
    if (job->bad)
        sim_fault(sim, FAULT_STREAM_REFUSED);
    bool no_room = rejected->code == GW_ELIMIT && sim_scatter_refused(sim, job);
    bool bad = job->bad && rejected->code == GW_EINVAL;
    bool late = job->after && rejected->code == GW_EDEPENDENCY; /* it failed on the way here */
    SIM_CHECK(sim,
              !job->accepted &&
                  (bad || late || no_room || (large && rejected->code == GW_EINFEASIBLE) ||
                   (unknown && rejected->code == GW_ENOENT)),
              "a job is refused for no reason: %s", rejected->text);
    if (!job->rejected)
        sim_fault(sim, FAULT_REFUSED);
    job->rejected = true;
    for (size_t i = 0; i < job->work.count; i++)
        job->work.items[i]->held = false; /* its futures fail */
}

void sim_client_take(struct sim *sim, struct client *client, const struct gw_message *message,
                     const struct packet *packet)
{
    if (message->sequence <= client->seen)
        return; /* a copy */
    client->seen = message->sequence;
    switch (message->type) {
    case GW_MESSAGE_welcome:
        client->term = message->term;
        client->session = message->peer;
        client->greeted = true;
        break;
    case GW_MESSAGE_opened:
        take_opened(sim, client, &message->opened);
        break;
    case GW_MESSAGE_accepted:
        take_accepted(sim, client, &message->accepted);
        break;
    case GW_MESSAGE_rejected:
        take_rejected(sim, client, &message->rejected);
        break;
    case GW_MESSAGE_done:
        take_done(sim, client, &message->done);
        break;
    case GW_MESSAGE_failed:
        take_failures(sim, client, &message->failed);
        break;
    case GW_MESSAGE_object:
        answered(sim, client, message->object.request, GW_MESSAGE_object);
        take_object(sim, client, &message->object, packet);
        break;
    case GW_MESSAGE_reply:
        take_reply(sim, client, &message->reply);
        break;
    case GW_MESSAGE_held:
        answered(sim, client, message->held.request, GW_MESSAGE_held);
        sim_share_take(sim, client, &message->held);
        break;
    case GW_MESSAGE_replicated:
        answered(sim, client, message->replicated.request, GW_MESSAGE_replicated);
        sim_replica_take(sim, client, &message->replicated);
        break;
    case GW_MESSAGE_synced:
        answered(sim, client, message->synced.request, GW_MESSAGE_synced);
        sim_sync_take(sim, client, &message->synced);
        break;
    case GW_MESSAGE_tunnel_opened:
        answered(sim, client, message->tunnel_opened.request, GW_MESSAGE_tunnel_opened);
        /* fall through */
    case GW_MESSAGE_tunnel_data:
    case GW_MESSAGE_tunnel_close:
        sim_tunnel_client_take(sim, client, message);
        break;
    case GW_MESSAGE_log_data:
        answered(sim, client, message->log_data.request, GW_MESSAGE_log_data);
        break;
    default:
        sim_fail(sim, "a client is sent %s", gw_message_name(message->type));
    }
    if (client->work)
        sim_nested_told(sim, client);
}

/* -- Life ----------------------------------------------------------------------------------------
 */

void sim_client_start(struct sim *sim, struct client *client)
{
    client->alive = true;
    client->uid = 1000 + (client->number == 2);
    client->admin = client->number == 1;
    client->to_submit = 1 + (uint32_t)sim_below(sim, 5);
    struct end sched = {.side = SIDE_SCHED, .peer = ++sim->next_conn + 1000000};
    struct end own = {.side = SIDE_CLIENT, .client = client, .peer = 1};
    client->conn = sim_connect(sim, sched, own);
    int rc = sim_sched_step(sim, &(struct gw_event){.type = GW_EVENT_OPEN,
                                                    .peer = {sched.peer},
                                                    .role = GW_ROLE_CLIENT,
                                                    .uid = client->uid,
                                                    .admin = client->admin,
                                                    .text = "sim"});
    SIM_CHECK(sim, rc == 0, "the scheduler refuses a client");
    sim_plan(sim, sim_below(sim, 300 * MS), on_act, client);
}

void sim_client_closed(struct sim *sim, struct client *client)
{
    client->alive = false;
    sim_sync_end(sim, client);
    client->conn = NULL;
    if (client->work)
        sim_nested_told(sim, client);
}

void sim_client_kill(struct sim *sim, struct client *client)
{
    if (!client->alive || !client->conn)
        return;
    client->alive = false;
    sim_sync_end(sim, client);
    struct conn *conn = client->conn;
    client->conn = NULL;
    sim_close(sim, conn, 1);
}

/* From here on it submits no more, and cancels what can never end. */
void sim_client_finish(struct sim *sim, struct client *client)
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
                release(sim, client, job->work.items[k]);
        bool endless = job->infeasible || sim_actor_blocked(sim, job);
        for (size_t k = 0; k < job->work.count; k++)
            endless = endless || (job->work.items[k]->hangs && !job->work.items[k]->wall_ns);
        if (endless && !job->rejected && job->accepted)
            cancel(sim, client, job, true);
    }
}

/* Of what is done, all before it that somebody waits for is told of as done, too, though it failed
 * once: it was retried with what needs it. */
static void check_before(struct sim *sim, const struct work *work)
{
    for (uint32_t i = 0; !work->inputs && i < work->dep_count; i++) {
        const struct work *before = work->deps[i].on;
        SIM_CHECK(sim,
                  before->job->client != work->job->client || !before->held || before->cancelled ||
                      before->job->cancelled || before->told != TOLD_FAILED,
                  "target %llu is done, and of %llu before it the last word is that it failed",
                  (unsigned long long)work->id, (unsigned long long)before->id);
    }
}

bool sim_client_settled(struct sim *sim, struct client *client)
{
    if (!client->alive)
        return true;
    for (size_t i = 0; i < client->jobs.count; i++) {
        struct sim_job *job = client->jobs.items[i];
        if (job->rejected)
            continue;
        if (!job->accepted)
            return false;
        for (size_t k = 0; k < (job->range ? job->made : job->work.count); k++)
            if (job->work.items[k]->held && job->work.items[k]->told == TOLD_NOTHING)
                return false;
            else if (job->work.items[k]->held && job->work.items[k]->told == TOLD_DONE)
                check_before(sim, job->work.items[k]);
    }
    return client->calls.count == 0 && sim_shares_settled(client);
}

void sim_client_free(struct sim *sim, struct client *client)
{
    (void)sim;
    gw_map_deinit(&client->calls);
    gw_map_deinit(&client->syncing);
    gw_map_deinit(&client->fetching);
    gw_map_deinit(&client->retrying);
    sim_receipts_free(client);
    gw_map_deinit(&client->ranges_again);
    gw_map_deinit(&client->replicating);
    gw_map_deinit(&client->holding);
    gw_map_deinit(&client->trespassing);
    sim_shares_free(client);
    gw_map_deinit(&client->waiting);
    gw_array_deinit(&client->tunnels);
    gw_array_deinit(&client->jobs);
}
