/* Entry points of the scheduler's core: one event in, a list of effects out.
 *
 * A step first handles the event. Then it settles the consequences until nothing more follows, and
 * places the tasks that can be placed. Every decision becomes a fact, and the fact is applied
 * immediately. At the end of the step, the durable facts become one commit and the collected rows
 * are sent. */
#include "scheduler/core/sched.h"

#include "graph/wire/timeouts.h"
#include "scheduler/core/journal/durable.h"
#include "scheduler/core/lifecycle/actor.h"
#include "scheduler/core/lifecycle/cancel.h"
#include "scheduler/core/lifecycle/checkpoint.h"
#include "scheduler/core/lifecycle/delay.h"
#include "scheduler/core/lifecycle/gang_control.h"
#include "scheduler/core/lifecycle/gang_start.h"
#include "scheduler/core/lifecycle/hang.h"
#include "scheduler/core/lifecycle/job.h"
#include "scheduler/core/lifecycle/memory_report.h"
#include "scheduler/core/lifecycle/preemption.h"
#include "scheduler/core/lifecycle/retry.h"
#include "scheduler/core/lifecycle/worker_report.h"
#include "scheduler/core/membership/adopt.h"
#include "scheduler/core/membership/gpu_ask.h"
#include "scheduler/core/membership/hold.h"
#include "scheduler/core/membership/worker.h"
#include "scheduler/core/membership/worker_drain.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/gang_size.h"
#include "scheduler/core/placement/placement.h"
#include "scheduler/core/placement/policy.h"
#include "scheduler/core/placement/work_stealing.h"
#include "scheduler/core/requests/coordination/sync.h"
#include "scheduler/core/requests/coordination/sync_request.h"
#include "scheduler/core/requests/nested.h"
#include "scheduler/core/requests/pending_request.h"
#include "scheduler/core/requests/remote.h"
#include "scheduler/core/requests/replica.h"
#include "scheduler/core/requests/scattered.h"
#include "scheduler/core/requests/share.h"
#include "scheduler/core/requests/submission.h"
#include "scheduler/core/requests/tunnel.h"
#include "scheduler/core/send/accounting.h"
#include "scheduler/core/send/log.h"
#include "scheduler/core/send/notify.h"
#include "scheduler/core/send/outbox.h"
#include "scheduler/core/send/reload.h"
#include "scheduler/core/send/send.h"
#include "scheduler/core/settle.h"
#include "scheduler/core/view/query.h"

#include <stdlib.h>

/* With more tasks than this, the invariants are checked only every few steps. */
enum { CHECK_TASKS_MAX = 4096 };

struct gw_sched *gw_sched_new(const struct gw_sched_options *options)
{
    struct gw_sched *sched = calloc(1, sizeof *sched);
    GW_MUST_PTR(sched);
    sched->options = *options;
    if (!sched->options.heartbeat_ns)
        sched->options.heartbeat_ns = GW_HEARTBEAT_NS;
    if (!sched->options.worker_lost_ns)
        sched->options.worker_lost_ns = GW_LOST_NS;
    if (!sched->options.crash_budget)
        sched->options.crash_budget = 3;
    if (!sched->options.loss_budget)
        sched->options.loss_budget = 10;
    if (!sched->options.ageing_ns)
        sched->options.ageing_ns = GW_AGEING_NS;
    gw_sched_term_limit(sched, &(struct gw_sched_limits){options->pure_bytes_max,
                                                         options->scattered_bytes_max,
                                                         options->history_jobs});
    if (!sched->options.state_dir)
        sched->options.state_dir = "";
    if (!sched->options.cluster)
        sched->options.cluster = "";
    sched->next_remote = sched->next_relay = 1;
    sched->next_job = sched->job_ids_upto = options->first_job ? options->first_job : 1;
    sched->next_worker = 1;
    sched->free_attempt = sched->free_object = sched->free_holder = GW_NO_INDEX;
    return sched;
}

void gw_sched_free(struct gw_sched *sched)
{
    if (!sched)
        return;
    size_t at = 0;
    uint64_t id, value;
    while (gw_map_next(&sched->gangs, &at, &id, &value))
        gw_sched_gang_free((struct gw_gang_attempt *)(uintptr_t)value);
    while (sched->first_job)
        gw_sched_job_free(sched, sched->first_job);
    for (at = 0; gw_map_next(&sched->remotes, &at, &id, &value);)
        gw_sched_remote_free(sched, (struct gw_remote *)(uintptr_t)value);
    for (size_t i = 0; i < sched->shapes.count; i++)
        if (sched->shapes.items[i]) {
            sched->shapes.items[i]->rooms = 0;
            gw_sched_queue_class_free(sched, sched->shapes.items[i]);
        }
    gw_sched_lost_worker_deinit(sched);
    gw_sched_gpu_twins_deinit(sched);
    gw_sched_hold_deinit(sched);
    gw_sched_gpu_drain_deinit(sched);
    gw_sched_worker_drain_deinit(sched);
    gw_sched_replicas_deinit(sched);
    gw_sched_pending_deinit(sched);
    gw_sched_tunnels_deinit(sched);
    gw_sched_event_log_deinit(sched);
    gw_strmap_deinit(&sched->published);
    gw_map_deinit(&sched->pures.by_digest);
    gw_array_deinit(&sched->pures.shares);
    gw_buffer_deinit(&sched->step.scratch);
    gw_sync_deinit(sched);
    gw_map_deinit(&sched->remotes);
    gw_map_deinit(&sched->jobs);
    gw_map_deinit(&sched->job_keys);
    gw_map_deinit(&sched->gangs);
    gw_array_deinit(&sched->workers);
    gw_array_deinit(&sched->by_free);
    for (int i = 0; i < GW_RESERVATIONS; i++) {
        gw_array_deinit(&sched->reservations[i].reserved_ranks);
        gw_array_deinit(&sched->preemptions.items[i].victims);
    }
    gw_array_deinit(&sched->preemptions.in_vain);
    gw_array_deinit(&sched->shapes);
    gw_strmap_deinit(&sched->names);
    gw_sched_worker_names_deinit(sched);
    gw_users_deinit(sched);
    gw_accounts_deinit(sched);
    gw_sched_attempts_deinit(sched);
    gw_array_deinit(&sched->objects);
    gw_array_deinit(&sched->holders);
#define DEINIT(list, type) gw_array_deinit(&sched->list);
    GW_NOTES(DEINIT)
#undef DEINIT
    gw_array_deinit(&sched->delays);
    gw_array_deinit(&sched->quarantines);
    gw_array_deinit(&sched->partings);
    gw_array_deinit(&sched->announcements);
    gw_array_deinit(&sched->acknowledgements);
    gw_array_deinit(&sched->events_waiting);
    gw_array_deinit(&sched->step.dirty_workers);
    gw_sched_rows_deinit(sched);
    gw_array_deinit(&sched->step.dirty_sessions);
    gw_buffer_deinit(&sched->commit);
    free(sched);
}

uint64_t gw_sched_term(const struct gw_sched *sched)
{
    return sched->term;
}

/* -- Start and shutdown ----------------------------------------------------------------------- */

/* Notes all consequences that may follow for a restored job, because its notes were not saved.
 * Results that were at workers may be lost, so ended tasks are checked as if their results were
 * lost. */
static void note_restored(struct gw_sched *sched, struct gw_job *job)
{
    for (uint32_t row = gw_sched_row_next(job, 0); row < job->tasks.count;
         row = gw_sched_row_next(job, row + 1)) {
        if (job->tasks.flags[row] & GW_TASK_CANCELS)
            gw_sched_cancel_task(sched, job, row, &(struct gw_cancel){.reason = GW_KILL_CANCEL});
        uint8_t state = job->tasks.state[row];
        if (state == GW_TASK_DONE)
            gw_sched_note_lost(sched, (struct gw_row){job, row});
        else if (state == GW_TASK_WAITING)
            gw_sched_note_reopened(sched, (struct gw_row){job, row});
    }
    if (job->state == GW_JOB_RUNNING && job->unfinished == 0)
        gw_sched_note_ending(sched, job);
}

static void start(struct gw_sched *sched, const struct gw_event *event)
{
    GW_FACT(sched, term, .term = event->number);
    gw_sched_term_begin(sched, event);
    gw_sched_history_begin(sched, event);
    GW_FACT(sched, job_ids, .upto = sched->next_job + GW_JOB_IDS_BLOCK);
    gw_sched_delays_begin(sched);
    gw_account_begin(sched);
    for (struct gw_job *job = sched->first_job; job; job = job->next)
        note_restored(sched, job);
    gw_sched_accounting_begin(sched);
    gw_sched_hold_begin(sched);
}

/* Returns the longest grace period of all live attempts, but at most most_ns. */
static uint64_t longest_grace_ns(const struct gw_sched *sched, uint64_t most_ns)
{
    uint64_t longest_ns = 0;
    for (uint32_t slot = 0; slot < sched->attempts.count; slot++) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (attempt->state == GW_ATTEMPT_FREE)
            continue;
        const struct gw_job *job = attempt->job;
        const struct gw_msg_spec *spec = &job->specs.items[job->tasks.spec[attempt->index]].message;
        uint64_t grace_ns = spec->grace_ns ? spec->grace_ns : GW_GRACE_NS;
        longest_ns = grace_ns > longest_ns ? grace_ns : longest_ns;
    }
    return longest_ns < most_ns ? longest_ns : most_ns;
}

/* Tells one worker that the cluster shuts down. A worker that connects during the shutdown is told,
 * too, but the shutdown does not wait for it. */
static void shutdown_tell(struct gw_sched *sched, const struct gw_worker *worker, const char *text)
{
    struct gw_msg_shutdown *shutdown =
        &gw_sched_send(sched, worker->remote, GW_MESSAGE_shutdown)->shutdown;
    shutdown->text = gw_sched_send_text(sched, text);
    shutdown->grace_ns_max = sched->shutdown_grace_ns;
}

static void shutdown_tell_all(struct gw_sched *sched, const char *text)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state != GW_WORKER_LOST)
            shutdown_tell(sched, worker, text);
    }
}

static void on_shutdown(struct gw_sched *sched, struct gw_remote *remote,
                        const struct gw_msg_shutdown *message)
{
    struct gw_error error = {0};
    if (!remote->admin)
        (void)gw_error_set(&error, GW_EPERM,
                           "only an admin, or the user who started it, may shut down this cluster");
    const bool sooner =
        sched->shutting_down && message->grace_ns_max < sched->shutdown_grace_ns && !error.code;
    if (sooner) {
        gw_sched_term_hurry(sched, sched->now_ns + message->grace_ns_max + GW_SHUTDOWN_NS,
                            message->grace_ns_max);
        shutdown_tell_all(sched, message->text);
    }
    if (sched->shutting_down || error.code) {
        gw_sched_send_reply(sched, remote, message->request, &error);
        return;
    }
    gw_sched_term_shut_down(sched, remote, message->request,
                            sched->now_ns + longest_grace_ns(sched, message->grace_ns_max) +
                                GW_SHUTDOWN_NS,
                            message->grace_ns_max);
    shutdown_tell_all(sched, message->text);
}

bool gw_sched_ends(const struct gw_sched *sched)
{
    return sched->shutting_down;
}

/* Ends this process. Records the number of the next job, so that the next scheduler continues with
 * it and skips no number. */
static void stop(struct gw_sched *sched)
{
    if (sched->exited)
        return;
    (void)gw_sched_send_effect(sched, GW_EFFECT_EXIT);
    gw_sched_term_end(sched);
    gw_account_write(sched, true);
    GW_FACT(sched, job_ids, .upto = sched->next_job);
}

/* Completes a shutdown when all workers are gone or the deadline has passed: answers the client
 * that asked for it, and ends the process. */
static void shutdown_settle(struct gw_sched *sched)
{
    if (!sched->shutting_down || sched->exited)
        return;
    if (sched->now_ns < sched->shutdown_deadline_ns)
        for (size_t i = 0; i < sched->workers.count; i++)
            if (sched->workers.items[i] && sched->workers.items[i]->state != GW_WORKER_LOST &&
                sched->workers.items[i]->id < sched->shutdown_workers)
                return;
    struct gw_remote *remote = gw_sched_access_remote(sched, sched->shutdown_peer);
    struct gw_error error = {0};
    if (remote)
        gw_sched_send_reply(sched, remote, sched->shutdown_request, &error);
    stop(sched);
}

/* -- Messages --------------------------------------------------------------------------------- */

static void on_query(struct gw_sched *sched, struct gw_remote *remote,
                     const struct gw_msg_query *query)
{
    struct gw_bin body;
    struct gw_error error = {0};
    if (gw_sched_accounting_ask(sched, remote, query) || gw_sched_reload_ask(sched, remote, query))
        return;
    int rc = gw_sched_query_encoded(sched, remote, query, &body, &error);
    struct gw_msg_reply *reply = &gw_sched_send(sched, remote, GW_MESSAGE_reply)->reply;
    reply->request = query->request;
    reply->code = rc;
    reply->text = rc < 0 ? gw_sched_send_text(sched, error.text) : "";
    if (rc == 0)
        reply->body = body;
}

/* Handles a client's messages about the cluster. */
static int on_admin_message(struct gw_sched *sched, struct gw_remote *remote,
                            const struct gw_message *message)
{
    switch (message->type) {
    case GW_MESSAGE_worker_ask:
        return gw_sched_worker_drain_on_ask(sched, remote->session, &message->worker_ask);
    case GW_MESSAGE_gpu_ask:
        return gw_sched_gpu_on_ask(sched, remote->session, &message->gpu_ask);
    case GW_MESSAGE_shutdown:
        on_shutdown(sched, remote, &message->shutdown);
        return 0;
    default:
        return GW_EPROTO;
    }
}

static int on_client_message(struct gw_sched *sched, struct gw_remote *remote,
                             const struct gw_message *message)
{
    struct gw_session *session = remote->session;
    switch (message->type) {
    case GW_MESSAGE_spec:
        return gw_sched_on_spec(sched, session, message);
    case GW_MESSAGE_submit:
        return gw_sched_on_submit(sched, session, message);
    case GW_MESSAGE_range:
        return gw_sched_on_range(sched, session, message);
    case GW_MESSAGE_after:
        return gw_sched_on_after(sched, session, message);
    case GW_MESSAGE_scatter:
        return gw_sched_on_scatter(sched, session, &message->scatter);
    case GW_MESSAGE_release:
        return gw_sched_on_release(sched, session, &message->release);
    case GW_MESSAGE_lookup:
        return gw_sched_on_lookup(sched, session, &message->lookup);
    case GW_MESSAGE_drop:
        gw_sched_on_drop(sched, session, &message->drop);
        return 0;
    case GW_MESSAGE_publish:
        gw_sched_on_publish(sched, session, &message->publish);
        return 0;
    case GW_MESSAGE_fetch:
        gw_sched_on_fetch(sched, remote, &message->fetch);
        return 0;
    case GW_MESSAGE_replicate:
        gw_sched_on_replicate(sched, remote, &message->replicate);
        return 0;
    case GW_MESSAGE_cancel:
        gw_sched_on_cancel(sched, session, &message->cancel);
        return 0;
    case GW_MESSAGE_retry:
        gw_sched_on_retry(sched, session, &message->retry);
        return 0;
    case GW_MESSAGE_wait:
        gw_sched_on_wait(sched, remote, &message->wait);
        return 0;
    case GW_MESSAGE_query:
        on_query(sched, remote, &message->query);
        return 0;
    case GW_MESSAGE_log_read:
        gw_sched_on_log_read(sched, remote, &message->log_read);
        return 0;
    case GW_MESSAGE_tunnel_open:
        gw_sched_on_tunnel_open(sched, remote, &message->tunnel_open);
        return 0;
    case GW_MESSAGE_tunnel_data:
    case GW_MESSAGE_tunnel_credit:
    case GW_MESSAGE_tunnel_close:
        return gw_sched_tunnel_from_client(sched, remote, message);
    case GW_MESSAGE_sync:
        gw_sched_on_sync(sched, session, &message->sync);
        return 0;
    case GW_MESSAGE_actor_hold:
        gw_sched_actor_on_hold(sched, session, &message->actor_hold);
        return 0;
    case GW_MESSAGE_actor_release:
        gw_sched_actor_on_release(sched, session, &message->actor_release);
        return 0;
    case GW_MESSAGE_gang_ask:
        gw_sched_on_gang_ask(sched, session, &message->gang_ask);
        return 0;
    default:
        return on_admin_message(sched, remote, message);
    }
}

static void on_object_lost(struct gw_sched *sched, const struct gw_msg_object_lost *lost)
{
    struct gw_job *job = gw_sched_job_find(sched, lost->job);
    struct gw_worker *worker = gw_sched_worker_find(sched, lost->worker);
    if (!job || !worker || !gw_sched_row_live(job, lost->index))
        return;
    const uint32_t at = gw_sched_object_of(sched, job, lost->index, lost->rank);
    if (at == GW_NO_INDEX || gw_sched_object_holder_of(sched, at, worker->slot) == GW_NO_INDEX)
        return;
    /* The worker may still have the object but be unreachable for the reporting worker. If the
     * object is made again elsewhere, another attempt makes it, and this copy must not be taken for
     * the new one. So this copy is released. */
    const struct gw_object *object = &sched->objects.items[at];
    gw_sched_outbox_release(sched, worker,
                            &(struct gw_release_row){object->job->id, object->index, object->rank});
    gw_sched_object_lose_holder(sched, at, worker);
}

/* A report may come while the claim of its attempt is kept after a restart (late_claim.h). */
static void on_metric(struct gw_sched *sched, const struct gw_worker *worker,
                      const struct gw_msg_metric *metric)
{
    uint32_t slot = gw_sched_attempt_slot(sched, worker, metric->attempt, metric->rank);
    if (slot == GW_NO_INDEX)
        slot = gw_sched_gang_slot(sched, worker, metric->attempt, metric->rank);
    if (slot != GW_NO_INDEX) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        gw_metric_on_report(sched, attempt->job, attempt->index, metric);
        return;
    }
    const struct gw_late_claim *late =
        gw_sched_late_claim_find(worker, metric->attempt, metric->rank);
    struct gw_job *job = late ? gw_sched_job_find(sched, late->job) : NULL;
    if (job && gw_sched_row_live(job, late->index))
        gw_metric_on_report(sched, job, late->index, metric);
}

static void on_progress(struct gw_sched *sched, const struct gw_worker *worker,
                        const struct gw_msg_progress *progress)
{
    uint32_t slot = gw_sched_attempt_slot(sched, worker, progress->attempt, progress->rank);
    if (slot == GW_NO_INDEX)
        slot = gw_sched_gang_slot(sched, worker, progress->attempt, progress->rank);
    if (slot != GW_NO_INDEX)
        gw_sched_job_see_progress(sched->attempts.items[slot].job,
                                  sched->attempts.items[slot].index, progress);
}

/* Passes printed output of a task on to the client of the job, if that client is connected. */
static void on_printed(struct gw_sched *sched, const struct gw_worker *worker,
                       const struct gw_msg_printed *printed)
{
    uint32_t slot = gw_sched_attempt_slot(sched, worker, printed->attempt, printed->rank);
    if (slot == GW_NO_INDEX)
        slot = gw_sched_gang_slot(sched, worker, printed->attempt, printed->rank);
    const struct gw_job *job = slot == GW_NO_INDEX ? NULL : sched->attempts.items[slot].job;
    if (!job || !job->session || !job->session->remote)
        return;
    const uint32_t index = sched->attempts.items[slot].index;
    struct gw_bin data = gw_sched_send_bin(sched, printed->data);
    struct gw_msg_printed *told =
        &gw_sched_send(sched, job->session->remote, GW_MESSAGE_printed)->printed;
    *told = *printed;
    told->data = data;
    told->job = job->id;
    told->index = index;
}

/* Handles a worker's messages about its own state. */
static int on_worker_state(struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_message *message)
{
    switch (message->type) {
    case GW_MESSAGE_gpu_drained:
        return gw_sched_gpu_on_drained(sched, worker, &message->gpu_drained);
    case GW_MESSAGE_health:
        return gw_sched_worker_drain_on_health(sched, worker, &message->health);
    case GW_MESSAGE_gpu_usage:
        return gw_sched_gpu_on_usage(sched, worker, &message->gpu_usage);
    case GW_MESSAGE_memory:
        gw_sched_memory_on_report(sched, worker, &message->memory);
        return 0;
    case GW_MESSAGE_measured:
        return gw_sched_memory_on_measured(sched, worker, &message->measured);
    case GW_MESSAGE_heartbeat:
        gw_sched_worker_on_heartbeat(sched, worker, &message->heartbeat);
        return 0;
    case GW_MESSAGE_orphaned_files:
        gw_sched_on_orphaned_files(sched, worker, &message->orphaned_files);
        return 0;
    case GW_MESSAGE_leaving:
        gw_sched_leave_on_leaving(sched, worker, &message->leaving);
        return 0;
    case GW_MESSAGE_refuse: /* the worker shuts down, as it was asked, and runs no attempt any more
                             */
        gw_sched_worker_dismiss(sched, worker, message->refuse.text);
        gw_sched_send_close(sched, worker->remote);
        return 0;
    default:
        return GW_EPROTO;
    }
}

static int on_worker_message(struct gw_sched *sched, struct gw_worker *worker,
                             const struct gw_message *message)
{
    if (worker->state == GW_WORKER_LOST)
        return 0; /* the worker does not know yet that it counts as lost, and its connection is
                     being closed */
    switch (message->type) {
    case GW_MESSAGE_registration:
        if (sched->shutting_down)
            shutdown_tell(sched, worker, "this cluster is shutting down");
        return gw_sched_worker_on_registration(sched, worker, &message->registration);
    case GW_MESSAGE_finished:
        return gw_sched_on_finished(sched, worker, &message->finished);
    case GW_MESSAGE_ended:
        return gw_sched_on_ended(sched, worker, &message->ended);
    case GW_MESSAGE_failures:
        return gw_sched_on_failures(sched, worker, &message->failures);
    case GW_MESSAGE_started:
        return gw_sched_on_started(sched, worker, &message->started);
    case GW_MESSAGE_task_blocked:
        gw_sched_nested_on_blocked(sched, worker, &message->task_blocked);
        return 0;
    case GW_MESSAGE_rank_ready:
        return gw_sched_gang_on_ready(sched, worker, &message->rank_ready);
    case GW_MESSAGE_actor_ready:
        gw_sched_actor_on_ready(sched, worker, &message->actor_ready);
        return 0;
    case GW_MESSAGE_object_lost:
        on_object_lost(sched, &message->object_lost);
        return 0;
    case GW_MESSAGE_replica_reply:
        gw_sched_on_replica_reply(sched, worker, &message->replica_reply);
        return 0;
    case GW_MESSAGE_object:
        gw_sched_on_object(sched, worker, &message->object);
        return 0;
    case GW_MESSAGE_log_data:
        gw_sched_on_log_data(sched, worker, &message->log_data);
        return 0;
    case GW_MESSAGE_tunnel_opened:
    case GW_MESSAGE_tunnel_data:
    case GW_MESSAGE_tunnel_credit:
    case GW_MESSAGE_tunnel_close:
        return gw_sched_tunnel_from_worker(sched, worker, message);
    case GW_MESSAGE_fetch:
        gw_sched_on_fetch(sched, worker->remote, &message->fetch);
        return 0;
    case GW_MESSAGE_metric:
        on_metric(sched, worker, &message->metric);
        return 0;
    case GW_MESSAGE_gang_stuck:
        return gw_sched_on_gang_stuck(sched, worker, &message->gang_stuck);
    case GW_MESSAGE_checkpoint_transferred:
    case GW_MESSAGE_transfer_absent:
    case GW_MESSAGE_checkpointed:
        gw_sched_checkpoint_on_message(sched, worker, message);
        return 0;
    case GW_MESSAGE_rank_paused:
        return gw_sched_gang_on_paused(sched, worker, &message->rank_paused);
    case GW_MESSAGE_progress:
        on_progress(sched, worker, &message->progress);
        return 0;
    case GW_MESSAGE_printed:
        on_printed(sched, worker, &message->printed);
        return 0;
    default:
        return on_worker_state(sched, worker, message);
    }
}

static int on_message(struct gw_sched *sched, const struct gw_event *event)
{
    struct gw_remote *remote = gw_sched_access_remote(sched, event->peer);
    if (!remote)
        return 0;
    int rc = gw_sched_remote_accepts(sched, remote, event->message);
    if (rc <= 0)
        return rc;
    if (remote->worker)
        return on_worker_message(sched, remote->worker, event->message);
    return on_client_message(sched, remote, event->message);
}

/* -- The step --------------------------------------------------------------------------------- */

static int handle(struct gw_sched *sched, const struct gw_event *event)
{
    switch (event->type) {
    case GW_EVENT_START:
        start(sched, event);
        return 0;
    case GW_EVENT_OPEN:
        return gw_sched_remote_on_open(sched, event);
    case GW_EVENT_CLOSE:
        gw_sched_remote_on_close(sched, event->peer, event->code);
        return 0;
    case GW_EVENT_MESSAGE:
        return on_message(sched, event);
    case GW_EVENT_TICK:
        gw_sched_workers_on_tick(sched);
        gw_sync_on_tick(sched);
        gw_sched_hang_on_tick(sched);
        gw_sched_delays_on_tick(sched);
        gw_sched_quarantines_on_tick(sched);
        gw_sched_partings_on_tick(sched);
        gw_sched_ageing_on_tick(sched);
        gw_sched_gang_size_on_tick(sched);
        return 0;
    case GW_EVENT_ROOM:
        gw_sched_term_see_room(sched, event->code < 0 ? event->text : "");
        return 0;
    case GW_EVENT_COMMITTED:
        gw_sched_history_on_committed(sched, event->bytes);
        gw_sched_notify_committed(sched, event->number);
        gw_event_number_on_committed(sched);
        gw_sched_hold_on_committed(sched);
        return 0;
    case GW_EVENT_GONE:
        gw_sched_hold_on_gone(sched, event->text);
        return 0;
    case GW_EVENT_STOP:
        stop(sched);
        return 0;
    default:
        return GW_EPROTO;
    }
}

int gw_sched_step(struct gw_sched *sched, const struct gw_event *event, struct gw_effects *effects)
{
    gw_sched_term_step(sched, event);
    sched->step.event = event;
    sched->step.tokens_retained = false;
    gw_sched_outbox_begin(sched, effects);
    int rc = handle(sched, event);
    gw_sched_hold_settle(sched);
    gw_sched_gpu_twins_settle(sched);
    if (sched->worker_drains)
        gw_sched_worker_drains_settle(sched);
    do {
        do
            gw_sched_settle(sched);
        while (gw_sched_adopt_settle(sched));
        gw_sched_placement(sched);
    } while (gw_sched_ranges_feed(sched) || ((sched->accounts || sched->preemptions.running) &&
                                             gw_sched_preemption_settle(sched)));
    gw_sched_actors_place(sched);
    gw_sched_work_stealing(sched);
    gw_sched_workers_leave_settle(sched);
    shutdown_settle(sched);
    if (sched->accounts)
        gw_account_write(sched, false);
    gw_sched_log_settle(sched, sched->exited);
    gw_sched_durable_flush(sched);
    gw_sched_outbox_flush(sched);
    gw_sched_pending_requests_follow(sched);
    gw_sched_tunnels_follow(sched);
    if (!sched->step.tokens_retained)
        for (uint32_t i = 0; i < event->token_count; i++)
            gw_sched_outbox_drop_token(sched, event->tokens[i]);
    sched->step.event = NULL;
    sched->step.effects = NULL;
#ifdef GANGWAY_CHECK
    uint32_t tasks = 0;
    for (const struct gw_job *job = sched->first_job; job; job = job->next)
        tasks += job->tasks.count;
    if (tasks <= CHECK_TASKS_MAX || ++sched->step.number % (tasks / CHECK_TASKS_MAX * 16) == 0)
        gw_sched_check(sched);
#endif
    return rc;
}

uint64_t gw_sched_deadline_ns(const struct gw_sched *sched)
{
    bool any = false;
    for (size_t i = 0; i < sched->workers.count && !any; i++)
        any = sched->workers.items[i] != NULL;
    const uint64_t deadlines_ns[] = {
        any ? sched->beat_ns : UINT64_MAX,
        sched->preparing ? sched->preparing->deadline_ns : UINT64_MAX,
        gw_sched_delays_deadline_ns(sched),
        gw_sched_quarantines_deadline_ns(sched),
        gw_sched_partings_deadline_ns(sched),
        gw_sched_ageing_deadline_ns(sched),
        gw_sched_policy_deadline_ns(sched),
        gw_sched_preemption_deadline_ns(sched),
        gw_sched_gang_size_deadline_ns(sched),
        gw_sched_hold_deadline_ns(sched),
        gw_sched_gpu_twins_deadline_ns(sched),
        gw_sched_worker_drains_deadline_ns(sched),
        sched->leaving ? sched->leave_look_ns : UINT64_MAX,
        gw_sync_deadline_ns(sched),
        sched->shutting_down && !sched->exited ? sched->shutdown_deadline_ns : UINT64_MAX,
    };
    uint64_t first_ns = UINT64_MAX;
    for (size_t i = 0; i < sizeof deadlines_ns / sizeof *deadlines_ns; i++)
        first_ns = deadlines_ns[i] < first_ns ? deadlines_ns[i] : first_ns;
    return first_ns;
}

uint64_t gw_sched_idle_since_ns(const struct gw_sched *sched)
{
    return sched->session_count == 0 && sched->unended_jobs == 0 ? sched->idle_since_ns
                                                                 : UINT64_MAX;
}
