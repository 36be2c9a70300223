/* Clients. They connect, send requests (request.c) and die. They check what they receive: each
 * target ends once, with the right value or with an error that has a reason in this world. */
#include "tests/sim/checks/acknowledgement.h"
#include "tests/sim/checks/ledger.h"
#include "tests/sim/world/nested.h"
#include "tests/sim/world/range.h"
#include "tests/sim/world/request.h"
#include "tests/sim/world/scatter.h"

#include "graph/wire/codec.h"
#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/task.h"

#define RELEASED_NS (200 * MS) /* longer than two messages take */
#define MADE_AGAIN_NS (30 * SECOND)

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

/* Returns the number of a new request whose answer is awaited. */
uint64_t sim_client_call(struct client *client, uint32_t answer)
{
    uint64_t request = ++client->next_request;
    GW_MUST(gw_map_put(&client->calls, request, answer));
    return request;
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

/* Returns the task that a row of `done`, or a `failed`, is about. */
static struct work *end_of(struct sim *sim, const struct client *client, uint64_t request,
                           uint32_t index)
{
    const struct share *share = sim_share_find(client, request);
    struct work *work =
        share ? share->work : sim_client_job(sim, client, request)->work.items[index];
    SIM_CHECK(sim, work, "told of the end before what was found");
    return work;
}

/* After the scheduler has received a release, it must not send the end of that target. */
static void check_wanted(struct sim *sim, const struct work *work)
{
    SIM_CHECK(
        sim, work->held || work->job->detached || sim->now_ns < work->released_ns + RELEASED_NS,
        "target %llu was given up long ago, and its end is told", (unsigned long long)work->id);
}

/* A failed task may end a second time if it, a task that depends on it, or a task with the same
 * arguments was retried. */
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

/* The client takes the results of a range sooner or later. Until then the scheduler must not exceed
 * the limit of results. */
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
        sim_request_release(sim, client, work);
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
    /* A task that nobody held may have been cancelled with its dependents before it was looked up.
     */
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
    if (failed->code == GW_ELOST && work->worker_losses_max)
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
        return; /* the result was released, or made again and failed */
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
        sim_request_wait(sim, client, client->jobs.items[id]);
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
        sim_request_wait(sim, client, job);
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
        job->rejected = true; /* the actor had ended and was forgotten */
        return;
    }
    bool large = false,
         unknown = false; /* compared with the workers that are connected at the moment */
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
    bool late = job->after &&
                rejected->code ==
                    GW_EDEPENDENCY; /* the job before this one failed while this one was sent */
    SIM_CHECK(sim,
              !job->accepted &&
                  (bad || late || no_room || (large && rejected->code == GW_EINFEASIBLE) ||
                   (unknown && rejected->code == GW_ENOENT)),
              "a job is refused for no reason: %s", rejected->text);
    if (!job->rejected)
        sim_fault(sim, FAULT_REFUSED);
    job->rejected = true;
    for (size_t i = 0; i < job->work.count; i++)
        job->work.items[i]->held = false; /* the futures of a refused job fail */
}

void sim_client_take(struct sim *sim, struct client *client, const struct gw_message *message,
                     const struct packet *packet)
{
    if (message->sequence <= client->seen)
        return; /* a duplicate */
    client->seen = message->sequence;
    switch (message->type) {
    case GW_MESSAGE_welcome:
        client->term = message->term;
        client->session = message->peer;
        client->welcomed = true;
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
    sim_request_begin(sim, client);
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

/* A result that was lost before its end was reported is made again, and reported after the commit.
 */
static bool is_made_again(const struct sim *sim, const struct work *work)
{
    const struct gw_job *job = gw_sched_job_find(sim->sched, work->job->id);
    return sim->now_ns < sim->healed_ns + MADE_AGAIN_NS ||
           (job && work->row < job->tasks.count && !gw_sched_task_final(job, work->row));
}

/* If a task is done, all awaited tasks that it depends on must be reported as done, too, even if
 * they failed before, because they were retried with it. This does not hold for pure tasks, which
 * may share the result of another task. Returns false if this is not yet so. */
static bool check_before(struct sim *sim, const struct work *work)
{
    for (uint32_t i = 0; !work->job->pure && !work->inputs && i < work->dep_count; i++) {
        const struct work *before = work->deps[i].on;
        const bool failed = before->job->client == work->job->client && before->held &&
                            !before->cancelled && !before->job->cancelled &&
                            before->told == TOLD_FAILED;
        if (failed && is_made_again(sim, before))
            return false;
        SIM_CHECK(sim, !failed,
                  "target %llu is done, and of %llu before it the last word is that it failed",
                  (unsigned long long)work->id, (unsigned long long)before->id);
    }
    return true;
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
            else if (job->work.items[k]->held && job->work.items[k]->told == TOLD_DONE &&
                     !check_before(sim, job->work.items[k]))
                return false;
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
    sim_acknowledgements_free(client);
    gw_map_deinit(&client->ranges_again);
    gw_map_deinit(&client->replicating);
    gw_map_deinit(&client->holding);
    gw_map_deinit(&client->trespassing);
    sim_shares_free(client);
    gw_map_deinit(&client->waiting);
    gw_array_deinit(&client->tunnels);
    gw_array_deinit(&client->jobs);
}
