/* Requests that cannot always be answered immediately.
 *
 * Each request is tried when it arrives and again whenever its job changes. A try answers the
 * request, passes it on to a worker that has the answer, or leaves it waiting. If the client or
 * worker that asked is gone when the answer arrives, the answer is dropped. */
#include "scheduler/core/requests/pending_request.h"

#include "graph/wire/codec.h"
#include "scheduler/core/membership/hold.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/replica.h"
#include "scheduler/core/send/send.h"

/* -- Waiting for the end of a job ------------------------------------------------------------- */

/* Encodes the outcome of an ended job as [code, exit_code, text]. For a range, the number of
 * created tasks follows. */
static struct gw_bin outcome_body(struct gw_sched *sched, const struct gw_job *job)
{
    const struct gw_failure *failure = job->first_failure;
    struct gw_value *body = gw_list();
    GW_MUST(gw_list_push(body, gw_i64(failure ? failure->code : 0)));
    GW_MUST(gw_list_push(body, gw_i64(failure ? failure->exit_code : 0)));
    GW_MUST(gw_list_push(body, gw_str(failure ? failure->text : "")));
    if (job->range)
        GW_MUST(gw_list_push(body, gw_i64(job->tasks.count)));
    struct gw_buffer bytes = {0};
    GW_MUST(gw_codec_encode(body, NULL, &bytes));
    struct gw_bin copy =
        gw_sched_send_bin(sched, (struct gw_bin){bytes.data, (uint32_t)bytes.size});
    gw_buffer_deinit(&bytes);
    gw_value_unref(body);
    return copy;
}

static bool try_wait(struct gw_sched *sched, struct gw_remote *remote,
                     const struct gw_pending_request *pending)
{
    struct gw_job *job = gw_sched_job_find(sched, pending->job);
    if (!gw_sched_job_shown_ended(sched, job))
        return false;
    struct gw_bin body = outcome_body(sched, job);
    struct gw_msg_reply *reply = &gw_sched_send(sched, remote, GW_MESSAGE_reply)->reply;
    reply->request = pending->request;
    reply->text = "";
    reply->body = body;
    return true;
}

/* -- Results ---------------------------------------------------------------------------------- */

static void answer_object(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                          const struct gw_error *error)
{
    struct gw_msg_object *object = &gw_sched_send(sched, remote, GW_MESSAGE_object)->object;
    object->request = request;
    object->code = error->code;
    object->text = gw_sched_send_text(sched, error->text);
}

static void send_object(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                        const struct gw_object *from)
{
    const void *value = gw_sched_object_bytes(from);
    struct gw_bin bin = {"", 0};
    if (value)
        bin = gw_sched_send_bin(sched, (struct gw_bin){value, from->size});
    struct gw_message *message =
        from->has_token ? gw_sched_send_with(sched, remote, GW_MESSAGE_object, from->token)
                        : gw_sched_send(sched, remote, GW_MESSAGE_object);
    message->object =
        (struct gw_msg_object){.request = request, .text = "", .bytes = from->bytes, .value = bin};
}

static void ask_holder(struct gw_sched *sched, const struct gw_pending_request *pending,
                       uint32_t at)
{
    uint32_t place = gw_sched_object_holder_any(sched, at, GW_NO_INDEX);
    if (place == GW_NO_INDEX)
        return; /* the result was lost: its task runs again, and this request is tried again after
                   that */
    struct gw_worker *worker = sched->workers.items[sched->holders.items[place].worker];
    /* For an alias, this object belongs to another task. */
    const struct gw_object *object = &sched->objects.items[at];
    struct gw_msg_fetch *fetch = &gw_sched_send(sched, worker->remote, GW_MESSAGE_fetch)->fetch;
    *fetch = (struct gw_msg_fetch){pending->relay, object->job->id, object->index, object->rank};
    gw_sched_pending_relay(sched, pending->relay, worker);
}

static bool try_fetch(struct gw_sched *sched, struct gw_remote *remote,
                      const struct gw_pending_request *pending)
{
    struct gw_job *job = gw_sched_job_find(sched, pending->job);
    struct gw_error error = {0};
    if (!gw_sched_task_final(job, pending->index))
        return false;
    const struct gw_failure *failure = gw_sched_task_failure_of(job, pending->index);
    if (failure) {
        gw_error_set(&error, failure->code, "%s", failure->text);
        answer_object(sched, remote, pending->request, &error);
        return true;
    }
    uint32_t at = gw_sched_object_of(sched, job, pending->index, pending->rank);
    if (job->tasks.state[pending->index] == GW_TASK_RELEASED)
        gw_error_set(&error, GW_ENOENT,
                     "the result of task %u of job %llu was released, because no future held it "
                     "any more: keep a future of it, or publish it",
                     pending->index, (unsigned long long)job->id);
    else if (at == GW_NO_INDEX)
        gw_error_set(&error, GW_EINVAL, "task %u of job %llu has no rank %u: ranks count from 0",
                     pending->index, (unsigned long long)job->id, pending->rank);
    if (error.code) {
        answer_object(sched, remote, pending->request, &error);
        return true;
    }
    if (gw_sched_object_here(&sched->objects.items[at])) {
        send_object(sched, remote, pending->request, &sched->objects.items[at]);
        return true;
    }
    ask_holder(sched, pending, at);
    return false;
}

/* -- Output of tasks -------------------------------------------------------------------------- */

#define LOST_OUTPUT "its worker was lost, together with its output"

static void answer_log(struct gw_sched *sched, struct gw_remote *remote,
                       const struct gw_pending_request *pending, const struct gw_error *error)
{
    struct gw_msg_log_data *data = &gw_sched_send(sched, remote, GW_MESSAGE_log_data)->log_data;
    data->request = pending->request;
    data->code = error->code;
    data->text = error->code ? gw_sched_send_text(sched, error->text) : "";
    data->offset = pending->log.offset;
}

/* Returns true if `place` belongs to the task and rank of the request. An ordinary task has no
 * rank. */
static bool is_place(const struct gw_place *place, const struct gw_pending_request *pending,
                     bool gang)
{
    return place->index == pending->index && (!gang || place->rank == pending->log.rank);
}

/* Finds the first attempt after pending->log.after (1: the first attempt of all) whose output a
 * connected worker still has. Sets *attempt and returns the id of the worker. Places are ordered by
 * time. Attempt ids are not, because they are reused. */
static uint32_t place_after(const struct gw_sched *sched, const struct gw_job *job,
                            const struct gw_pending_request *pending, uint64_t *attempt)
{
    const struct gw_tasks *tasks = &job->tasks;
    const struct gw_place own = {.attempt = tasks->attempt[pending->index],
                                 .index = pending->index,
                                 .rank = GW_RANK_NONE,
                                 .worker = tasks->worker[pending->index]};
    bool gang = job->specs.items[tasks->spec[pending->index]].message.ranks > 0;
    /* The current attempt of an ordinary task comes last. */
    size_t count = job->places.count + !gang, from = count;
    if (pending->log.after != own.attempt || gang)
        while (from > 0 && !(from <= job->places.count &&
                             is_place(&job->places.items[from - 1], pending, gang) &&
                             job->places.items[from - 1].attempt == pending->log.after))
            from--;
    for (size_t i = from; i < count; i++) {
        const struct gw_place *place = i < job->places.count ? &job->places.items[i] : &own;
        const struct gw_worker *worker =
            gw_sched_worker_find(sched, gw_sched_place_worker(sched, place));
        if (place->attempt && is_place(place, pending, gang) && worker &&
            worker->state != GW_WORKER_LOST) {
            *attempt = place->attempt;
            return worker->id;
        }
    }
    return 0;
}

/* Returns the id of the worker where the requested attempt (0: the latest) of a rank ran, or 0 if
 * there is none. */
static uint32_t place_of(const struct gw_sched *sched, const struct gw_job *job,
                         const struct gw_pending_request *pending, uint64_t *attempt)
{
    const struct gw_tasks *tasks = &job->tasks;
    uint64_t wanted = pending->log.attempt ? pending->log.attempt : tasks->attempt[pending->index];
    bool gang = job->specs.items[tasks->spec[pending->index]].message.ranks > 0;
    *attempt = wanted;
    if (wanted == 0)
        return 0;
    if (!gang && wanted == tasks->attempt[pending->index] && tasks->worker[pending->index])
        return tasks->worker[pending->index];
    for (size_t i = job->places.count; i-- > 0;) {
        const struct gw_place *place = &job->places.items[i];
        if (place->index == pending->index && place->attempt == wanted &&
            (!gang || place->rank == pending->log.rank))
            return gw_sched_place_worker(sched, place);
    }
    return 0;
}

/* Returns true if the task or rank has run, so that its output exists but no connected worker has
 * it. */
static bool is_lost(const struct gw_job *job, const struct gw_pending_request *pending, bool begins)
{
    const uint64_t last = job->tasks.attempt[pending->index];
    if (!last || (begins && last == pending->log.after))
        return false;
    if (job->specs.items[job->tasks.spec[pending->index]].message.ranks == 0)
        return true;
    for (size_t i = 0; i < job->places.count; i++) /* a gang may have run with fewer ranks */
        if (is_place(&job->places.items[i], pending, true))
            return true;
    return false;
}

/* Returns true if a worker that has the output is expected to reconnect after a restart of the
 * scheduler. */
static bool is_coming(const struct gw_sched *sched, const struct gw_job *job,
                      const struct gw_pending_request *pending)
{
    bool gang = job->specs.items[job->tasks.spec[pending->index]].message.ranks > 0;
    for (size_t i = 0; i < job->places.count; i++)
        if (job->places.items[i].name && is_place(&job->places.items[i], pending, gang) &&
            gw_sched_hold_is_coming(sched, job->places.items[i].name))
            return true;
    return false;
}

static bool try_log(struct gw_sched *sched, struct gw_remote *remote,
                    const struct gw_pending_request *pending)
{
    struct gw_job *job = gw_sched_job_find(sched, pending->job);
    struct gw_error error = {0};
    uint64_t attempt;
    /* Otherwise the client continues to read one attempt. */
    const bool begins = pending->log.after && !pending->log.attempt;
    uint32_t id = begins ? place_after(sched, job, pending, &attempt)
                         : place_of(sched, job, pending, &attempt);
    if (id == 0 && pending->log.attempt && !is_coming(sched, job, pending)) {
        gw_error_set(&error, GW_ENOENT, "task %u of job %llu has no such attempt or rank",
                     pending->index, (unsigned long long)job->id);
        answer_log(sched, remote, pending, &error);
        return true;
    }
    if (id == 0) {
        bool final = gw_sched_task_final(job, pending->index);
        if ((!final && pending->log.follow) || is_coming(sched, job, pending))
            return false; /* wait until the task runs or the worker has reconnected */
        if (final && is_lost(job, pending, begins)) {
            if (sched->shutting_down)
                return false; /* the shutdown answers all requests: the output stays on disk */
            gw_error_set(&error, GW_ELOST, LOST_OUTPUT);
        }
        answer_log(sched, remote, pending, &error);
        sched->step.effects->list.items[sched->step.effects->list.count - 1].message.log_data.end =
            final;
        return true;
    }
    struct gw_worker *worker = gw_sched_worker_find(sched, id);
    if (!worker || worker->state == GW_WORKER_LOST) {
        if (sched->shutting_down)
            return false; /* as above */
        gw_error_set(&error, GW_ELOST, LOST_OUTPUT);
        answer_log(sched, remote, pending, &error);
        return true;
    }
    struct gw_msg_log_read *read =
        &gw_sched_send(sched, worker->remote, GW_MESSAGE_log_read)->log_read;
    char user[GW_USER_NAME_MAX];
    *read = pending->log;
    read->user = gw_sched_send_text(sched, gw_user_name(sched, job->uid, user));
    read->request = pending->relay;
    read->attempt = attempt;
    if (job->specs.items[job->tasks.spec[pending->index]].message.ranks == 0)
        read->rank = GW_RANK_NONE;
    gw_sched_pending_relay(sched, pending->relay, worker);
    return false;
}

/* -- Trying requests -------------------------------------------------------------------------- */

static void try_pending(struct gw_sched *sched, const struct gw_pending_request *pending)
{
    struct gw_remote *remote = gw_sched_access_remote(sched, pending->peer);
    bool answered = true;
    if (remote && pending->type == GW_MESSAGE_wait)
        answered = try_wait(sched, remote, pending);
    else if (remote && pending->type == GW_MESSAGE_fetch)
        answered = try_fetch(sched, remote, pending);
    else if (remote && pending->type == GW_MESSAGE_replicate)
        answered = gw_sched_replica_try(sched, remote, pending);
    else if (remote)
        answered = try_log(sched, remote, pending);
    if (answered)
        gw_sched_pending_answer(sched, pending->relay);
}

/* Tries the requests about a job that were not passed on to a worker yet. */
static void revisit(struct gw_sched *sched, uint64_t id, bool logs_only)
{
    const struct gw_job *job = gw_sched_job_find(sched, id);
    if (!job || job->pending_requests == 0)
        return;
    GW_ARRAY(const struct gw_pending_request *) due = {0};
    size_t at = 0;
    uint64_t relay, value;
    while (gw_map_next(&sched->pending_requests, &at, &relay, &value)) {
        const struct gw_pending_request *pending =
            (const struct gw_pending_request *)(uintptr_t)value;
        if (pending->job == id && pending->worker == 0 &&
            (!logs_only || pending->type == GW_MESSAGE_log_read))
            GW_MUST(gw_array_push(&due, pending));
    }
    for (size_t k = 0; k < due.count; k++)
        try_pending(sched, due.items[k]);
    gw_array_deinit(&due);
}

void gw_sched_pending_requests_settle(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->revisited.count; i++)
        revisit(sched, sched->revisited.items[i], false);
    gw_sched_noted_revisited(sched);
}

void gw_sched_pending_requests_follow(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->followed.count; i++)
        revisit(sched, sched->followed.items[i], true);
    gw_sched_noted_followed(sched);
}

void gw_sched_on_wait(struct gw_sched *sched, struct gw_remote *remote,
                      const struct gw_msg_wait *wait)
{
    struct gw_job *job = gw_sched_job_find(sched, wait->job);
    struct gw_error error = {0};
    if (gw_sched_access_job(job, wait->job, gw_sched_access_uid(remote, job), &error) < 0) {
        gw_sched_send_reply(sched, remote, wait->request, &error);
        return;
    }
    gw_sched_pending_ask(sched, &(struct gw_pending_request){.type = GW_MESSAGE_wait,
                                                             .peer = remote->peer,
                                                             .request = wait->request,
                                                             .job = wait->job});
}

void gw_sched_on_fetch(struct gw_sched *sched, struct gw_remote *remote,
                       const struct gw_msg_fetch *fetch)
{
    struct gw_job *job = gw_sched_job_find(sched, fetch->job);
    struct gw_error error = {0};
    if (gw_sched_access_row(job, fetch->job, fetch->index, gw_sched_access_uid(remote, job),
                            &error) < 0) {
        answer_object(sched, remote, fetch->request, &error);
        return;
    }
    gw_sched_pending_ask(
        sched, &(struct gw_pending_request){.type = GW_MESSAGE_fetch,
                                            .peer = remote->peer,
                                            .request = fetch->request,
                                            .job = fetch->job,
                                            .index = fetch->index,
                                            .rank = fetch->rank == GW_RANK_NONE ? 0 : fetch->rank});
}

void gw_sched_on_log_read(struct gw_sched *sched, struct gw_remote *remote,
                          const struct gw_msg_log_read *read)
{
    struct gw_job *job = gw_sched_job_find(sched, read->job);
    struct gw_error error = {0};
    struct gw_pending_request pending = {.type = GW_MESSAGE_log_read,
                                         .peer = remote->peer,
                                         .request = read->request,
                                         .job = read->job,
                                         .index = read->index,
                                         .log = *read};
    if (gw_sched_access_row(job, read->job, read->index, gw_sched_access_uid(remote, job), &error) <
        0) {
        answer_log(sched, remote, &pending, &error);
        return;
    }
    gw_sched_pending_ask(sched, &pending);
}

/* -- Answers of workers ----------------------------------------------------------------------- */

static const struct gw_pending_request *asked_of(const struct gw_sched *sched,
                                                 const struct gw_worker *worker, uint64_t relay,
                                                 uint32_t type)
{
    uint64_t value;
    if (!gw_map_get(&sched->pending_requests, relay, &value))
        return NULL;
    const struct gw_pending_request *pending = (const struct gw_pending_request *)(uintptr_t)value;
    return pending->type == type && pending->worker == worker->id ? pending : NULL;
}

void gw_sched_on_object(struct gw_sched *sched, struct gw_worker *worker,
                        const struct gw_msg_object *object)
{
    const struct gw_pending_request *pending =
        asked_of(sched, worker, object->request, GW_MESSAGE_fetch);
    if (!pending)
        return;
    struct gw_job *job = gw_sched_job_find(sched, pending->job);
    if (object->code < 0) {
        uint32_t at = gw_sched_object_of(sched, job, pending->index, pending->rank);
        if (at != GW_NO_INDEX && gw_sched_object_holder_of(sched, at, worker->slot) != GW_NO_INDEX)
            gw_sched_object_lose_holder(sched, at, worker);
        gw_sched_pending_relay(sched, pending->relay, NULL);
        return;
    }
    struct gw_remote *remote = gw_sched_access_remote(sched, pending->peer);
    if (remote) {
        struct gw_bin value = gw_sched_send_bin(sched, object->value);
        struct gw_message *message =
            sched->step.event->token_count > 0
                ? gw_sched_send_with(sched, remote, GW_MESSAGE_object, sched->step.event->tokens[0])
                : gw_sched_send(sched, remote, GW_MESSAGE_object);
        message->object = (struct gw_msg_object){
            .request = pending->request, .text = "", .bytes = object->bytes, .value = value};
    }
    gw_sched_pending_answer(sched, pending->relay);
}

void gw_sched_on_log_data(struct gw_sched *sched, struct gw_worker *worker,
                          const struct gw_msg_log_data *data)
{
    const struct gw_pending_request *pending =
        asked_of(sched, worker, data->request, GW_MESSAGE_log_read);
    if (!pending)
        return;
    struct gw_remote *remote = gw_sched_access_remote(sched, pending->peer);
    if (remote) {
        struct gw_bin bytes = gw_sched_send_bin(sched, data->data);
        const char *text = gw_sched_send_text(sched, data->text);
        struct gw_msg_log_data *answer =
            &gw_sched_send(sched, remote, GW_MESSAGE_log_data)->log_data;
        *answer = *data;
        answer->request = pending->request;
        answer->text = text;
        answer->data = bytes;
    }
    gw_sched_pending_answer(sched, pending->relay);
}
