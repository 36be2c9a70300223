/* Fetches objects from another worker or from the scheduler (worker 0). The objects are inputs of
 * attempts here, or replicas that the scheduler wants here.
 *
 * Invariants: there is one fetch per object, even if many need the object. A fetch ends when the
 * object arrives. Otherwise it fails at its deadline at the latest: all waiting attempts end with
 * LOST_INPUT, and the scheduler hears of the replicas that are not here. If nobody needs the object
 * any more when it arrives, it is freed. */
#include "worker/core/objects/fetch.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/job.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/object.h"

#include <stdlib.h>
#include <string.h>

#define FETCH_LIMIT_NS UINT64_C(15000000000)

static uint64_t fetch_key(const struct gw_fetch *fetch)
{
    return (uint64_t)fetch->index << 32 | fetch->rank;
}

static struct gw_neighbour *neighbour_of(struct gw_node_core *core, uint32_t worker)
{
    uint64_t value;
    return gw_map_get(&core->neighbours, worker, &value) ? (struct gw_neighbour *)(uintptr_t)value
                                                         : NULL;
}

const char *gw_fetch_address(const struct gw_node_core *core, uint32_t worker)
{
    uint64_t value;
    return gw_map_get(&core->neighbours, worker, &value)
               ? ((struct gw_neighbour *)(uintptr_t)value)->address
               : NULL;
}

static void unlink_fetch(struct gw_node_core *core, struct gw_fetch *fetch)
{
    for (size_t i = 0; i < core->fetches.count; i++)
        if (core->fetches.items[i] == fetch) {
            memmove(&core->fetches.items[i], &core->fetches.items[i + 1],
                    (core->fetches.count - i - 1) * sizeof *core->fetches.items);
            core->fetches.count--;
            break;
        }
    gw_map_remove(&core->requests, fetch->request);
    gw_map_remove(&fetch->job->fetches, fetch_key(fetch));
}

void gw_fetch_free(struct gw_node_core *core, struct gw_fetch *fetch)
{
    struct gw_node_job *job = fetch->job;
    unlink_fetch(core, fetch);
    gw_sm_move(&gw_fetch_sm, &fetch->state, GW_FETCH_GONE);
    gw_array_deinit(&fetch->waiters);
    gw_array_deinit(&fetch->replica_requests);
    free(fetch);
    gw_job_tidy(core, job);
}

static bool still_waits(const struct gw_fetch_waiter *waiter)
{
    return waiter->run->serial == waiter->serial && waiter->run->state == GW_ATTEMPT_WAITING;
}

static bool awaited(const struct gw_fetch *fetch)
{
    for (size_t i = 0; i < fetch->waiters.count; i++)
        if (still_waits(&fetch->waiters.items[i]))
            return true;
    return false;
}

void gw_fetch_tell_replica(struct gw_node_core *core, const struct gw_msg_replica_request *request,
                           int code, const char *text)
{
    if (!core->registered)
        return;
    const char *copy = gw_core_text(core, text);
    gw_core_send(core, core->scheduler, GW_MESSAGE_replica_reply)->message.replica_reply =
        (struct gw_msg_replica_reply){request->request, request->job, request->index,
                                      request->rank,    code,         copy};
}

static void send_replica_replies(struct gw_node_core *core, struct gw_fetch *fetch, int code,
                                 const char *text)
{
    for (size_t i = 0; i < fetch->replica_requests.count; i++)
        gw_fetch_tell_replica(
            core,
            &(struct gw_msg_replica_request){.request = fetch->replica_requests.items[i],
                                             .job = fetch->job->id,
                                             .index = fetch->index,
                                             .rank = fetch->rank},
            code, text);
    gw_array_clear(&fetch->replica_requests);
}

/* Fails a fetch. absent: the other side has answered that it does not have the object. If only a
 * replica was wanted, a failed transfer is no proof that the object is lost, so that is not
 * reported. */
static void fail(struct gw_node_core *core, struct gw_fetch *fetch, const char *text, bool absent)
{
    if (core->registered && (awaited(fetch) || (absent && fetch->replica_requests.count)))
        gw_core_send(core, core->scheduler, GW_MESSAGE_object_lost)->message.object_lost =
            (struct gw_msg_object_lost){fetch->job->id, fetch->index, fetch->rank, fetch->worker};
    send_replica_replies(core, fetch, GW_ELOST, text);
    for (size_t i = 0; i < fetch->waiters.count; i++) {
        const struct gw_fetch_waiter *waiter = &fetch->waiters.items[i];
        if (!still_waits(waiter))
            continue;
        struct gw_attempt_end end = {.outcome = GW_OUTCOME_LOST_INPUT, .code = GW_ELOST};
        end.text = gw_attempt_text("input %u is lost: %s", waiter->dep, text);
        gw_attempt_fail(core, waiter->run, end);
    }
    gw_fetch_free(core, fetch);
}

static void ask(struct gw_node_core *core, struct gw_fetch *fetch, struct gw_node_link *link)
{
    gw_sm_move(&gw_fetch_sm, &fetch->state, GW_FETCH_ASKED);
    gw_core_send(core, link, GW_MESSAGE_fetch)->message.fetch =
        (struct gw_msg_fetch){fetch->request, fetch->job->id, fetch->index, fetch->rank};
}

/* Makes a fetch fail in the tick of this step. It must not fail at once, since the caller is still
 * setting up the attempt that waits. */
static void fail_soon(struct gw_node_core *core, struct gw_fetch *fetch, const char *text)
{
    size_t count = core->fetches.count; /* the fetch is the last one in the list */
    memmove(&core->fetches.items[1], &core->fetches.items[0],
            (count - 1) * sizeof *core->fetches.items);
    core->fetches.items[0] = fetch;
    fetch->deadline_ns = core->now_ns;
    fetch->trouble = text;
}

static void start(struct gw_node_core *core, struct gw_fetch *fetch)
{
    if (!fetch->worker) {
        ask(core, fetch,
            core->scheduler); /* the scheduler has sent this order, so it is connected */
        return;
    }
    struct gw_neighbour *neighbour = neighbour_of(core, fetch->worker);
    if (!neighbour || fetch->worker == core->worker) {
        fail_soon(core, fetch,
                  neighbour ? "this worker does not have it"
                            : "the worker that holds it is unknown");
    } else if (neighbour->link) {
        ask(core, fetch, neighbour->link);
    } else if (!neighbour->connecting) {
        neighbour->connecting = true;
        struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_CONNECT);
        effect->number = neighbour->worker;
        effect->bytes =
            (struct gw_bin){neighbour->address, (uint32_t)strlen(neighbour->address) + 1};
    }
}

static struct gw_fetch *find(struct gw_node_core *core, uint64_t job_id, uint32_t index,
                             uint32_t rank)
{
    uint64_t value;
    const struct gw_node_job *job = gw_core_job(core, job_id, false);
    if (!job || !gw_map_get(&job->fetches, (uint64_t)index << 32 | rank, &value))
        return NULL;
    return (struct gw_fetch *)(uintptr_t)value;
}

/* Returns the fetch of an object, and starts one if there is none. The caller must add a waiter or
 * a replica request before the step ends. */
static struct gw_fetch *want(struct gw_node_core *core, const struct gw_msg_replica_request *what)
{
    struct gw_fetch *fetch = find(core, what->job, what->index, what->rank);
    if (fetch) {
        fetch->released = false;
        return fetch;
    }
    fetch = gw_core_alloc(sizeof *fetch);
    fetch->request = ++core->request;
    fetch->deadline_ns = core->now_ns + FETCH_LIMIT_NS;
    fetch->job = gw_core_job(core, what->job, true);
    fetch->index = what->index;
    fetch->rank = what->rank;
    fetch->worker = what->worker;
    fetch->trouble = "the worker that holds it does not answer";
    GW_MUST(gw_map_put(&fetch->job->fetches, fetch_key(fetch), (uintptr_t)fetch));
    GW_MUST(gw_map_put(&core->requests, fetch->request, (uintptr_t)fetch));
    GW_MUST(gw_array_push(&core->fetches, fetch));
    start(core, fetch);
    return fetch;
}

void gw_fetch_for(struct gw_node_core *core, struct gw_attempt *run, uint32_t dep)
{
    const struct gw_attempt_input *from = &run->deps[dep];
    struct gw_fetch *fetch = want(core, &(struct gw_msg_replica_request){.job = from->job,
                                                                         .index = from->index,
                                                                         .rank = from->rank,
                                                                         .worker = from->worker});
    run->missing++;
    GW_MUST(gw_array_push(&fetch->waiters, ((struct gw_fetch_waiter){run, run->serial, dep})));
}

void gw_fetch_replica(struct gw_node_core *core, const struct gw_msg_replica_request *request)
{
    GW_MUST(gw_array_push(&want(core, request)->replica_requests, request->request));
}

static void release_fetch(struct gw_node_core *core, uint64_t job, uint32_t index, uint32_t rank)
{
    struct gw_fetch *fetch = find(core, job, index, rank);
    if (!fetch)
        return;
    send_replica_replies(core, fetch, GW_ECANCELLED, "it was released");
    fetch->released = true;
    if (!awaited(fetch))
        gw_fetch_free(core, fetch);
}

void gw_fetch_on_release(struct gw_node_core *core, const struct gw_msg_release *release)
{
    for (uint32_t i = 0; i < release->job.count; i++) {
        struct gw_object *object =
            gw_object_find(core, gw_col64_at(release->job, i), gw_col32_at(release->index, i),
                           gw_col32_at(release->rank, i));
        release_fetch(core, gw_col64_at(release->job, i), gw_col32_at(release->index, i),
                      gw_col32_at(release->rank, i));
        if (!object)
            continue;
        object->released = true;
        if (!object->users)
            gw_object_free(core, object);
    }
}

void gw_fetch_cancel_replicas(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->fetches.count;) {
        struct gw_fetch *fetch = core->fetches.items[i];
        gw_array_clear(&fetch->replica_requests);
        if (awaited(fetch))
            i++;
        else
            gw_fetch_free(core, fetch); /* removes the fetch from the list */
    }
}

/* Hands a fetched object to all who wait for it. */
static void arrive(struct gw_node_core *core, struct gw_fetch *fetch, struct gw_object *object)
{
    send_replica_replies(core, fetch, 0, "");
    for (size_t i = 0; i < fetch->waiters.count; i++) {
        const struct gw_fetch_waiter *waiter = &fetch->waiters.items[i];
        if (!still_waits(waiter))
            continue;
        struct gw_attempt *run = waiter->run;
        (void)gw_object_use(
            core, object, run,
            waiter->dep); /* if the object is on disk, the attempt waits until it is read */
        if (--run->missing == 0)
            gw_attempt_supplied(core, run);
    }
}

/* Hands a fetched copy to all who wait for it, and frees the copy if nobody needs it. */
static void arrive_copy(struct gw_node_core *core, struct gw_fetch *fetch, struct gw_object *object)
{
    bool replicates = fetch->replica_requests.count > 0;
    arrive(core, fetch, object);
    object->released = fetch->released;
    if (!object->users && !replicates)
        gw_object_free(core, object);
}

static void drop_tokens_from(struct gw_node_core *core, const struct gw_event *event, uint32_t i)
{
    for (; i < event->token_count; i++)
        gw_core_drop_token(core, event->tokens[i]);
}

void gw_fetch_on_object(struct gw_node_core *core, const struct gw_event *event)
{
    const struct gw_msg_object *answer = &event->message->object;
    uint64_t value;
    if (!gw_map_get(&core->requests, answer->request, &value)) {
        drop_tokens_from(core, event, 0);
        return;
    }
    struct gw_fetch *fetch = (struct gw_fetch *)(uintptr_t)value;
    bool by_token = event->token_count > 0;
    if (answer->code < 0 || (!by_token && answer->value.size == 0)) {
        drop_tokens_from(core, event, 0);
        fail(core, fetch, answer->code < 0 ? answer->text : "the worker that holds it sent no data",
             true);
        return;
    }
    /* If the object was made here since the fetch began, the scheduler knows that one. The copy may
     * be of an earlier attempt, or may not name its attempt. If it replaced the local object, a
     * restarted scheduler could not recognize the object. So the copy is dropped. */
    struct gw_object *made = gw_object_find(core, fetch->job->id, fetch->index, fetch->rank);
    if (made && !made->released) {
        drop_tokens_from(core, event, 0);
        arrive(core, fetch, made);
        gw_fetch_free(core, fetch);
        return;
    }
    struct gw_object like = {
        .job = fetch->job, .index = fetch->index, .rank = fetch->rank, .attempt = answer->attempt};
    if (by_token) {
        like.token = event->tokens[0];
        like.bytes = answer->bytes;
    } else {
        like.bytes = answer->value.size;
        like.value = gw_core_alloc(answer->value.size);
        memcpy(like.value, answer->value.data, answer->value.size);
    }
    drop_tokens_from(core, event, by_token);
    arrive_copy(core, fetch, gw_object_put(core, &like));
    gw_fetch_free(core, fetch);
}

void gw_fetch_on_neighbour(struct gw_node_core *core, const struct gw_msg_neighbour *message)
{
    struct gw_neighbour *neighbour = neighbour_of(core, message->worker);
    if (!neighbour) {
        neighbour = gw_core_alloc(sizeof *neighbour);
        neighbour->worker = message->worker;
        GW_MUST(gw_map_put(&core->neighbours, message->worker, (uintptr_t)neighbour));
    }
    free(neighbour->address);
    neighbour->address = gw_core_strdup(message->address);
}

void gw_fetch_on_open(struct gw_node_core *core, struct gw_node_link *link, uint32_t worker)
{
    struct gw_neighbour *neighbour = neighbour_of(core, worker);
    if (!neighbour || neighbour->link) {
        gw_core_effect(core, GW_EFFECT_CLOSE)->peer = link->peer;
        return;
    }
    neighbour->connecting = false;
    neighbour->link = link;
    link->neighbour = neighbour;
    for (size_t i = 0; i < core->fetches.count; i++) {
        struct gw_fetch *fetch = core->fetches.items[i];
        if (fetch->worker == worker && fetch->state == GW_FETCH_CONNECTING)
            ask(core, fetch, link);
    }
}

void gw_fetch_fail_worker(struct gw_node_core *core, uint32_t worker)
{
    struct gw_neighbour *neighbour = neighbour_of(core, worker);
    if (neighbour)
        neighbour->connecting = false;
    for (size_t i = 0; i < core->fetches.count;) {
        struct gw_fetch *fetch = core->fetches.items[i];
        if (fetch->worker == worker)
            fail(core, fetch, "the worker that holds it is gone",
                 false); /* removes the fetch from the list */
        else
            i++;
    }
}

void gw_fetch_on_close(struct gw_node_core *core, struct gw_neighbour *neighbour)
{
    neighbour->link = NULL;
    gw_fetch_fail_worker(core, neighbour->worker);
}

/* Each term of the scheduler numbers the workers anew. A fetch from a worker by its old number must
 * not be reported as a failure of the worker that has this number now. Attempts that still need the
 * object will be assigned again. */
void gw_fetch_leave_neighbours(struct gw_node_core *core)
{
    size_t at = 0;
    uint64_t key, value;
    core->registered = false; /* do not report the objects as lost */
    while (core->fetches.count)
        fail(core, core->fetches.items[0], "the scheduler has restarted", false);
    while (gw_map_next(&core->neighbours, &at, &key, &value)) {
        struct gw_neighbour *neighbour = (struct gw_neighbour *)(uintptr_t)value;
        if (neighbour->link) {
            neighbour->link->neighbour = NULL;
            gw_core_effect(core, GW_EFFECT_CLOSE)->peer = neighbour->link->peer;
        }
        free(neighbour->address);
        free(neighbour);
    }
    gw_map_deinit(&core->neighbours);
}

void gw_fetch_tick(struct gw_node_core *core)
{
    while (core->fetches.count && core->fetches.items[0]->deadline_ns <= core->now_ns)
        fail(core, core->fetches.items[0], core->fetches.items[0]->trouble, false);
}
