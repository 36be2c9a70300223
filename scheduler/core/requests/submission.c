/* Submission of jobs. Each message of a client is validated completely before any part of it
 * becomes a fact.
 *
 * The chunks of an attached job are applied as they arrive, and its tasks may start immediately.
 * The chunks of a detached job are kept as frames until the last has arrived. Then they are
 * validated and applied together, so that the acknowledged job is one durable fact. */
#include "scheduler/core/requests/submission.h"

#include "scheduler/core/lifecycle/cancel.h"
#include "scheduler/core/model/jobs/scoped_name.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/admission.h"
#include "scheduler/core/requests/chunk.h"
#include "scheduler/core/send/log.h"
#include "scheduler/core/send/notify.h"
#include "scheduler/core/send/send.h"

static struct gw_job *open_job(const struct gw_session *session, uint64_t request)
{
    uint64_t value;
    return gw_map_get(&session->requests, request, &value) ? (struct gw_job *)(uintptr_t)value
                                                           : NULL;
}

void gw_sched_submission_reject(struct gw_sched *sched, struct gw_session *session,
                                uint64_t request, const struct gw_error *error)
{
    struct gw_msg_rejected *rejected =
        &gw_sched_send(sched, session->remote, GW_MESSAGE_rejected)->rejected;
    rejected->request = request;
    rejected->code = error->code;
    rejected->text = gw_sched_send_text(sched, error->text);
}

/* Refuses a job. Its tasks that have started are cancelled, except for those that others hold or
 * need. The client gets no messages about them. */
static void refuse_job(struct gw_sched *sched, struct gw_job *job, bool last,
                       const struct gw_error *error)
{
    struct gw_session *session = job->session;
    gw_sched_submission_reject(sched, session, job->request, error);
    if (!last)
        gw_sched_content_refuse(session, job->request, true);
    if (job->tasks.count == 0) {
        gw_sched_job_drop(sched, job);
        return;
    }
    gw_sched_job_set_sealed(sched, job, sched->wall_ns);
    for (uint32_t row = 0; job->held > 0 && row < job->tasks.count; row++)
        if (job->tasks.flags[row] & GW_TASK_HELD)
            GW_FACT(sched, task_unheld, .at = job, .job = job->id, .index = row);
    gw_sched_cancel_abandon(sched, job, &(struct gw_cancel){.reason = GW_KILL_CANCEL});
}

/* Only an admin may submit with a priority above 0. If the scheduler does not listen for TLS
 * connections, it serves only the user who started it, and that user is its admin. */
static int check_priority(const struct gw_sched *sched, const struct gw_session *session,
                          const struct gw_msg_spec *spec, struct gw_error *error)
{
    if (spec->priority <= 0 || session->remote->admin || !sched->options.address)
        return 0;
    return gw_error_set(error, GW_EPERM,
                        "priority %d: only an admin may submit above priority 0, before all other "
                        "jobs (gangway token create --role admin, or the owner of the cluster): "
                        "use 0, or less to let others go first",
                        (int)spec->priority);
}

/* Returns true if a job with this key was accepted before. In this case the client is told its id,
 * once the job is on disk. */
static bool is_known(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                     const char *key)
{
    static const struct gw_error none;
    const struct gw_job *job = gw_sched_job_key_find(sched, remote->uid, remote->name, key);
    if (!job)
        return false;
    gw_sched_notify_request(sched, remote, job,
                            &(struct gw_acknowledgement){.request = request, .known_job = job->id},
                            &none);
    return true;
}

/* Writes the full name of a new actor into `spec`; see scoped_name.h. */
static int scope_actor(const struct gw_sched *sched, const struct gw_session *session,
                       struct gw_msg_spec *spec, char name[GW_SCOPED_NAME_FULL_BYTES],
                       struct gw_error *error)
{
    if (spec->actor != GW_ACTOR_NEW || !spec->actor_name || !*spec->actor_name)
        return 0;
    const char *said = spec->actor_name;
    spec->actor_name = name;
    return gw_scoped_name_full(sched, session, said, name, error);
}

int gw_sched_on_spec(struct gw_sched *sched, struct gw_session *session,
                     const struct gw_message *message)
{
    struct gw_message full = *message;
    struct gw_msg_spec *spec = &full.spec;
    char name[GW_SCOPED_NAME_FULL_BYTES];
    struct gw_job *job = open_job(session, spec->key);
    if (!job && gw_map_get(&session->refused, spec->key, NULL))
        return 0; /* the spec was under way when its job was refused */
    if (!job && is_known(sched, session->remote, spec->key, spec->job_key)) {
        gw_sched_content_refuse(session, spec->key, true);
        return 0;
    }
    if (!job)
        job = gw_sched_job_open(sched, session, spec->key);
    if (spec->number != job->specs.count)
        return GW_EPROTO;
    struct gw_error error;
    if (check_priority(sched, session, spec, &error) < 0 ||
        scope_actor(sched, session, spec, name, &error) < 0 ||
        gw_sched_admission_check(sched, session, job, spec, &error) < 0 ||
        gw_sched_chunk_spec_check(sched, job, spec, &error) < 0) {
        /* Refuse the job now, with the true reason. Otherwise the next chunk would be refused for
         * naming a missing spec. */
        refuse_job(sched, job, false, &error);
        return 0;
    }
    gw_sched_content_add_spec(sched, job, spec);
    if (job->detached)
        gw_sched_job_add_message(job, &full);
    return 0;
}

/* -- Detached jobs ---------------------------------------------------------------------------- */

static int frame_check(struct gw_sched *sched, const struct gw_message *message, void *arg,
                       struct gw_error *error)
{
    struct gw_chunk_check *check = arg;
    if (message->type == GW_MESSAGE_submit)
        return gw_sched_chunk_check(sched, check, &message->submit, error);
    if (message->type == GW_MESSAGE_range)
        return gw_sched_chunk_range_check(sched, check->job, &message->range, error);
    return 0;
}

/* The tasks of a content, while it is decided which of them share results. */
struct sharing {
    struct gw_job *job;
    uint32_t rows; /* in the messages before */
};

/* Decides which pure tasks of a message have results of other detached jobs. */
static int frame_share(struct gw_sched *sched, const struct gw_message *message, void *arg,
                       struct gw_error *error)
{
    struct sharing *sharing = arg;
    const struct gw_msg_submit *chunk = &message->submit;
    struct gw_job *job = sharing->job;
    (void)error;
    if (message->type != GW_MESSAGE_submit)
        return 0;
    struct gw_chunk_row_at row = {.chunk = chunk, .args = chunk->args.data};
    for (; row.at < chunk->spec.count; row.at++) {
        struct gw_row original;
        if (gw_sched_pure_find(sched, job, &row, &original))
            GW_FACT(sched, pure_shared, .at = job, .job = job->id, .index = sharing->rows + row.at,
                    .original_job = original.job->id, .original_index = original.index);
        row.args += gw_col32_at(chunk->args_size, row.at);
        row.edge += gw_col32_at(chunk->dep_count, row.at);
    }
    sharing->rows += chunk->spec.count;
    return 0;
}

static void share_results(struct gw_sched *sched, struct gw_job *job, struct gw_bin content)
{
    bool pure = false;
    for (size_t i = 0; i < job->specs.count; i++)
        pure = pure || job->specs.items[i].message.pure;
    if (pure)
        (void)gw_sched_content_each(sched, content, frame_share, &(struct sharing){job, 0}, NULL);
}

/* Adds the specs of a job to its durable content. They were applied when they arrived. */
static void store_specs(struct gw_sched *sched, struct gw_job *job)
{
    for (size_t i = 0; i < job->specs.count; i++) {
        struct gw_message message = {.type = GW_MESSAGE_spec, .spec = job->specs.items[i].message};
        gw_sched_job_add_message(job, &message);
    }
}

static void store(struct gw_sched *sched, struct gw_job *job, const struct gw_message *message)
{
    if (!job->detached)
        store_specs(sched, job);
    gw_sched_job_add_message(job, message);
}

/* Tells the program store to keep the programs and files that the tasks of this job need, for as
 * long as the job exists. */
static void store_content(struct gw_sched *sched, const struct gw_job *job)
{
    for (size_t i = 0; i < job->specs.count; i++) {
        const struct gw_msg_spec *spec = &job->specs.items[i].message;
        const struct gw_bin hashes[] = {spec->program, spec->files};
        for (int k = 0; k < 2; k++)
            if (hashes[k].size)
                gw_sched_send_effect(sched, GW_EFFECT_STORE_CONTENT)->bytes =
                    gw_sched_send_bin(sched, hashes[k]);
    }
}

/* Returns the running detached job whose task submits this job, or NULL. A command of the cluster's
 * owner may use the socket of the cluster, so its client says in which job it runs. */
static const struct gw_job *parent_of(const struct gw_sched *sched, const struct gw_job *job)
{
    const uint32_t attempt = job->session->attempt;
    const struct gw_job *parent = attempt == GW_NO_INDEX
                                      ? gw_sched_job_find(sched, job->specs.items[0].message.parent)
                                      : sched->attempts.items[attempt].job;
    return parent && parent->detached && parent->uid == job->uid && parent->state == GW_JOB_RUNNING
               ? parent
               : NULL;
}

/* Tasks may refer to tasks of earlier chunks, so the check goes chunk by chunk. The first bad
 * chunk drops the whole job before any of its tasks was placed. */
static int accept_detached(struct gw_sched *sched, struct gw_job *job, struct gw_error *error)
{
    /* Two submissions with the same key may be under way at once. */
    if (is_known(sched, job->session->remote, job->request, job->specs.items[0].message.job_key)) {
        gw_sched_job_drop(sched, job);
        return 0;
    }
    const struct gw_buffer *said = &gw_job_rare(job)->content;
    struct gw_bin content = {said->data, (uint32_t)said->size};
    struct gw_chunk_check check = {.job = job};
    int rc = gw_sched_content_each(sched, content, frame_check, &check, error);
    gw_array_deinit(&check.specs);
    if (rc < 0)
        return rc;
    store_content(sched, job);
    share_results(sched, job, content);
    GW_FACT(sched, job_accepted, .at = job, .job = job->id, .uid = job->uid,
            .wall_ns = sched->wall_ns, .user = job->user, .content = content);
    const struct gw_job *parent = parent_of(sched, job);
    if (parent)
        GW_FACT(sched, job_parent, .at = job, .job = job->id, .parent = parent->id);
    gw_sched_notify_announce(sched, job, 0, GW_ANNOUNCE_ACCEPTED, sched->facts + 1);
    gw_sched_log_submitted(sched, job);
    return 0;
}

static int submit_detached(struct gw_sched *sched, struct gw_job *job,
                           const struct gw_message *message, struct gw_error *error)
{
    const struct gw_msg_submit *submit = &message->submit;
    if (job->tasks.count)
        return gw_error_set(error, GW_EINVAL,
                            "a job must be detached when its first tasks are submitted: a later "
                            "part cannot change this");
    if (job->actor || job->calls_of)
        return gw_error_set(error, GW_EINVAL,
                            "an actor cannot be detached, because it ends when no client has a "
                            "handle of it any more");
    if (submit->flags & GW_SUBMIT_STREAM)
        return gw_error_set(error, GW_ENOTSUP,
                            "a stream of tasks cannot be detached, because it ends with its "
                            "client: submit the tasks as a graph (gw_client_submit)");
    store(sched, job, message);
    return submit->flags & GW_SUBMIT_LAST ? accept_detached(sched, job, error) : 0;
}

/* -- Attached jobs ---------------------------------------------------------------------------- */

void gw_sched_submission_accepted(struct gw_sched *sched, const struct gw_job *job, bool quiet)
{
    struct gw_msg_accepted *accepted =
        &gw_sched_send(sched, job->session->remote, GW_MESSAGE_accepted)->accepted;
    accepted->request = job->request;
    accepted->job = job->id;
    sched->step.effects->list.items[sched->step.effects->list.count - 1].held = quiet;
}

static void open_stream(struct gw_sched *sched, struct gw_job *job)
{
    gw_sched_content_open_stream(job);
    struct gw_msg_opened *opened =
        &gw_sched_send(sched, job->session->remote, GW_MESSAGE_opened)->opened;
    opened->request = job->request;
    opened->job = job->id;
}

static int submit_attached(struct gw_sched *sched, struct gw_job *job,
                           const struct gw_msg_submit *submit, struct gw_error *error)
{
    if (job->detached)
        return gw_error_set(error, GW_EINVAL,
                            "a job must be detached when its first tasks are submitted: a later "
                            "part cannot change this");
    struct gw_chunk_check check = {.job = job};
    int rc = gw_sched_chunk_check(sched, &check, submit, error);
    gw_array_deinit(&check.specs);
    if (rc < 0)
        return rc;
    gw_sched_content_add_chunk(sched, job, submit);
    if ((submit->flags & GW_SUBMIT_STREAM) && !job->stream)
        open_stream(sched, job);
    if (submit->flags & GW_SUBMIT_PART)
        gw_sched_content_part_stream(sched, job);
    if (!(submit->flags & GW_SUBMIT_LAST))
        return 0;
    gw_sched_job_set_sealed(sched, job, sched->wall_ns);
    gw_sched_submission_accepted(sched, job, submit->flags & GW_SUBMIT_QUIET);
    gw_sched_log_submitted(sched, job);
    return 0;
}

static int add_range(struct gw_sched *sched, struct gw_job *job, const struct gw_message *message,
                     struct gw_error *error)
{
    const struct gw_msg_range *range = &message->range;
    int rc = gw_sched_chunk_range_check(sched, job, range, error);
    if (rc < 0)
        return rc;
    if ((range->flags & GW_SUBMIT_DETACHED) && (range->flags & GW_RANGE_RESULTS))
        return gw_error_set(error, GW_EINVAL,
                            "a detached range cannot keep results, because no client takes them: "
                            "set discard_results");
    if (range->flags & GW_SUBMIT_DETACHED) {
        store(sched, job, message);
        return accept_detached(sched, job, error);
    }
    gw_sched_range_add(sched, job, range);
    gw_sched_job_set_sealed(sched, job, sched->wall_ns);
    gw_sched_submission_accepted(sched, job, false);
    gw_sched_log_submitted(sched, job);
    return 0;
}

static int check_detached(const struct gw_sched *sched, uint32_t flags, struct gw_error *error)
{
    if (!(flags & GW_SUBMIT_DETACHED))
        return 0;
    if (sched->options.is_private)
        return gw_error_set(error, GW_ENOTSUP,
                            "a detached job cannot outlive this private cluster, which ends with "
                            "its program: start a cluster by `gangway up`");
    return *sched->no_room ? gw_error_set(error, GW_EIO, "%s", sched->no_room) : 0;
}

int gw_sched_on_range(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_message *message)
{
    const struct gw_msg_range *range = &message->range;
    struct gw_error error = {0};
    struct gw_job *job = open_job(session, range->request);
    if (!job && gw_map_get(&session->refused, range->request, NULL)) {
        gw_sched_content_refuse(session, range->request, false);
        return 0;
    }
    if (!job || job->specs.count != 1)
        return GW_EPROTO;
    if (sched->shutting_down)
        gw_error_set(&error, GW_ECLOSED, "this cluster is shutting down and takes no more jobs");
    else if (check_detached(sched, range->flags, &error) == 0)
        (void)add_range(sched, job, message, &error);
    if (error.code < 0)
        refuse_job(sched, job, true, &error);
    return 0;
}

int gw_sched_on_after(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_message *message)
{
    const struct gw_msg_after *after = &message->after;
    struct gw_error error = {0};
    struct gw_job *job = open_job(session, after->request);
    if (!job && gw_map_get(&session->refused, after->request, NULL))
        return 0;
    if (!job || job->tasks.count > 0 || job->gated || gw_job_rare(job)->content.size > 0)
        return GW_EPROTO;
    if (gw_sched_gate_check(sched, job, after, session->remote->admin, &error) < 0)
        refuse_job(sched, job, false, &error);
    else if (after->flags & GW_SUBMIT_DETACHED)
        store(sched, job, message);
    else
        gw_sched_gate_add(sched, job, after);
    return 0;
}

int gw_sched_on_submit(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_message *message)
{
    const struct gw_msg_submit *submit = &message->submit;
    struct gw_error error = {0};
    struct gw_job *job = open_job(session, submit->request);
    bool last = (submit->flags & GW_SUBMIT_LAST) != 0;
    if (!job && gw_map_get(&session->refused, submit->request, NULL)) {
        if (last)
            gw_sched_content_refuse(session, submit->request, false);
        return 0;
    }
    if (!job) {
        gw_error_set(&error, GW_EINVAL, "submit: a job without a description of any task");
        gw_sched_submission_reject(sched, session, submit->request, &error);
        return 0;
    }
    if (sched->shutting_down)
        gw_error_set(&error, GW_ECLOSED, "this cluster is shutting down and takes no more jobs");
    else if (check_detached(sched, submit->flags, &error) == 0)
        (void)(submit->flags & GW_SUBMIT_DETACHED ? submit_detached(sched, job, message, &error)
                                                  : submit_attached(sched, job, submit, &error));
    if (error.code < 0)
        refuse_job(sched, job, last, &error);
    return 0;
}
