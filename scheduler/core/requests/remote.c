/* Remotes and sessions.
 *
 * A message counts when its envelope is of this term and this connection and its number is larger
 * than the last one: copies, and what an earlier connection sent, are dropped here and nowhere
 * else. */
#include "scheduler/core/requests/remote.h"

#include "scheduler/core/lifecycle/actor.h"
#include "scheduler/core/lifecycle/cancel.h"
#include "scheduler/core/membership/worker.h"
#include "scheduler/core/model/jobs/access.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/nested.h"
#include "scheduler/core/model/jobs/story.h"
#include "scheduler/core/model/user.h"
#include "scheduler/core/requests/coordination/sync_request.h"
#include "scheduler/core/requests/nested.h"
#include "scheduler/core/requests/share.h"
#include "scheduler/core/requests/tunnel.h"
#include "scheduler/core/send/effect.h"
#include "scheduler/core/send/outbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gw_sched_remote_on_open(struct gw_sched *sched, const struct gw_event *event)
{
    uint32_t attempt = GW_NONE;
    if (event->role != GW_ROLE_CLIENT && event->role != GW_ROLE_WORKER &&
        event->role != GW_ROLE_TASK)
        return GW_EPROTO;
    if (gw_sched_access_remote(sched, event->peer))
        return GW_EPROTO;
    if (event->role == GW_ROLE_TASK) {
        int rc = gw_sched_nested_find(sched, event, &attempt);
        if (rc < 0)
            return rc;
    }
    if (event->role == GW_ROLE_CLIENT)
        gw_user_seen(sched, event->uid, event->user);
    GW_FACT(sched, remote_opened, .event = event, .id = sched->next_remote, .attempt = attempt);
    struct gw_remote *remote = gw_sched_access_remote(sched, event->peer);
    struct gw_msg_welcome *welcome = &gw_sched_send(sched, remote, GW_MESSAGE_welcome)->welcome;
    welcome->worker = remote->worker ? remote->worker->id : 0;
    welcome->version = GANGWAY_VERSION;
    welcome->state_dir = sched->options.state_dir;
    welcome->cluster = sched->options.cluster;
    return 0;
}

static struct gw_session *session_new(struct gw_sched *sched, struct gw_remote *remote)
{
    struct gw_session *session = calloc(1, sizeof *session);
    GW_MUST_PTR(session);
    session->remote = remote;
    session->attempt = GW_NONE;
    session->next = sched->sessions;
    if (sched->sessions)
        sched->sessions->prev = session;
    sched->sessions = session;
    sched->session_count++;
    return session;
}

void gw_sched_apply_remote_opened(struct gw_sched *sched, const struct gw_fact_remote_opened *fact)
{
    const struct gw_event *event = fact->event;
    struct gw_remote *remote = calloc(1, sizeof *remote);
    GW_MUST_PTR(remote);
    *remote = (struct gw_remote){.peer = event->peer,
                                 .id = fact->id,
                                 .role = event->role,
                                 .uid = event->uid,
                                 .admin = event->admin && event->role == GW_ROLE_CLIENT};
    remote->name = strdup(event->text ? event->text : "");
    GW_MUST_PTR(remote->name);
    (void)snprintf(remote->address, sizeof remote->address, "%s",
                   event->address ? event->address : "");
    sched->next_remote = fact->id + 1;
    GW_MUST(gw_map_put(&sched->remotes, event->peer.id, (uintptr_t)remote));
    if (event->role == GW_ROLE_WORKER)
        gw_sched_worker_new(sched, remote);
    else
        remote->session = session_new(sched, remote);
    if (fact->attempt != GW_NONE)
        gw_sched_nested_begin(sched, fact->attempt, remote->session);
}

int gw_sched_remote_accepts(struct gw_sched *sched, struct gw_remote *remote,
                            const struct gw_message *message)
{
    const bool beats = message->sequence == 0 && message->type == GW_MESSAGE_heartbeat;
    if (message->sequence == 0 && !beats)
        return GW_EPROTO;
    if ((message->term && message->term != sched->term) ||
        (message->peer && message->peer != remote->id))
        return 0;
    if (beats ? !remote->worker || message->heartbeat.number <= remote->worker->beat_seen
              : message->sequence <= remote->seen && !GW_PLANTED(3))
        return 0;
    GW_FACT(sched, remote_heard, .remote = remote,
            .sequence = beats ? remote->seen : message->sequence);
    return 1;
}

void gw_sched_apply_remote_heard(struct gw_sched *sched, const struct gw_fact_remote_heard *fact)
{
    fact->remote->seen = fact->sequence;
    if (fact->remote->worker)
        fact->remote->worker->heard_ns = sched->now_ns;
}

/* The session's attached jobs end with it, but for what others hold or need; a job that was not
 * submitted whole goes, too. The newest go first: they need results of older ones. */
static void session_close(struct gw_sched *sched, struct gw_session *session, int32_t code)
{
    gw_sched_shares_close(sched, session);
    for (struct gw_job *job = session->jobs, *next; job; job = next) {
        next = job->session_next;
        bool no_actor = job->actor && job->tasks.count == 0;
        if (job->state == GW_JOB_OPEN && (job->detached || no_actor)) {
            GW_FACT(sched, job_dropped, .job = job);
            continue;
        }
        if (job->detached || job->actor || GW_PLANTED(612) || /* an actor: when nobody holds it */
            (GW_PLANTED(737) && code == GW_EPERM))
            continue;
        gw_sched_give_up_job(
            sched, job,
            &(struct gw_cancel){.reason = GW_KILL_SESSION, .by = session->remote->name});
    }
    gw_sync_session_end(sched, session);
    gw_sched_actor_on_session_closed(sched, session);
    gw_sched_tunnels_on_session_closed(sched, session->remote->peer);
    GW_FACT(sched, session_closed, .session = session);
}

void gw_sched_apply_session_closed(struct gw_sched *sched,
                                   const struct gw_fact_session_closed *fact)
{
    struct gw_session *session = fact->session;
    while (session->jobs) {
        struct gw_job *job = session->jobs;
        gw_sched_job_leave_session(job);
        GW_MUST(gw_array_push(&sched->aging, job->id));
        if (job->state == GW_JOB_OPEN) /* cancelled, and nothing more will come */
            gw_sched_job_seal(sched, job, sched->wall_ns);
    }
    if (session->prev)
        session->prev->next = session->next;
    else
        sched->sessions = session->next;
    if (session->next)
        session->next->prev = session->prev;
    sched->session_count--;
    gw_sched_nested_leave(sched, session);
    if (sched->session_count == 0)
        sched->idle_since_ns = sched->now_ns;
    gw_sched_outbox_forget(sched, NULL, session);
    gw_sched_actor_forget_session(sched, session);
    session->remote->session = NULL;
    gw_map_deinit(&session->requests);
    gw_map_deinit(&session->refused);
    gw_map_deinit(&session->shares);
    gw_sched_done_rows_deinit(&session->done);
    free(session);
}

void gw_sched_remote_on_close(struct gw_sched *sched, gw_peer peer, int32_t code)
{
    struct gw_remote *remote = gw_sched_access_remote(sched, peer);
    if (!remote)
        return;
    if (remote->session)
        session_close(sched, remote->session, code);
    if (remote->worker && code == GW_EPERM)
        gw_sched_worker_dismiss(sched, remote->worker, "its token was revoked");
    else if (remote->worker)
        gw_sched_worker_lose(sched, remote->worker, "its connection closed");
    GW_FACT(sched, remote_closed, .remote = remote);
}

void gw_sched_apply_remote_closed(struct gw_sched *sched, const struct gw_fact_remote_closed *fact)
{
    (void)gw_map_remove(&sched->remotes, fact->remote->peer.id);
    gw_sched_remote_free(sched, fact->remote);
}

void gw_sched_remote_free(struct gw_sched *sched, struct gw_remote *remote)
{
    if (remote->session) {
        gw_map_deinit(&remote->session->requests);
        gw_map_deinit(&remote->session->refused);
        gw_map_deinit(&remote->session->shares);
        gw_sched_done_rows_deinit(&remote->session->done);
        free(remote->session);
    }
    if (remote->worker)
        gw_sched_worker_free(sched, remote->worker);
    free(remote->name);
    free(remote);
}
