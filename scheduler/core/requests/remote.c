/* Connections and sessions.
 *
 * A message is accepted only if its envelope has the current term and this connection's id, and if
 * its sequence number is larger than the last one. Only this file drops duplicates and messages of
 * earlier connections. */
#include "scheduler/core/requests/remote.h"

#include "scheduler/core/lifecycle/actor.h"
#include "scheduler/core/lifecycle/cancel.h"
#include "scheduler/core/membership/worker.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/coordination/sync_request.h"
#include "scheduler/core/requests/nested.h"
#include "scheduler/core/requests/share.h"
#include "scheduler/core/requests/tunnel.h"
#include "scheduler/core/sched.h"
#include "scheduler/core/send/send.h"

#include <gangway/version.h>

int gw_sched_remote_on_open(struct gw_sched *sched, const struct gw_event *event)
{
    uint32_t attempt = GW_NO_INDEX;
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
    gw_sched_remote_open(sched, event, sched->next_remote, attempt);
    struct gw_remote *remote = gw_sched_access_remote(sched, event->peer);
    struct gw_msg_welcome *welcome = &gw_sched_send(sched, remote, GW_MESSAGE_welcome)->welcome;
    welcome->worker = remote->worker ? remote->worker->id : 0;
    welcome->version = GANGWAY_VERSION;
    welcome->state_dir = sched->options.state_dir;
    welcome->cluster = sched->options.cluster;
    return 0;
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
              : message->sequence <= remote->seen)
        return 0;
    gw_sched_remote_hear(sched, remote, beats ? remote->seen : message->sequence);
    return 1;
}

const char *gw_sched_remote_user(const struct gw_sched *sched, gw_peer peer,
                                 char text[GW_REMOTE_USER_BYTES])
{
    _Static_assert((int)GW_REMOTE_USER_BYTES == (int)GW_USER_NAME_MAX, "a name fits");
    const struct gw_remote *remote = gw_sched_access_remote(sched, peer);
    const uint32_t inside = remote && remote->session ? remote->session->attempt : GW_NO_INDEX;
    if (!remote)
        return "";
    return gw_user_name(
        sched, inside == GW_NO_INDEX ? remote->uid : sched->attempts.items[inside].job->uid, text);
}

/* Ends the session's attached jobs, except for tasks that others hold or need. A job that was not
 * submitted completely ends, too. The newest jobs end first, because they need results of older
 * ones. */
static void session_close(struct gw_sched *sched, struct gw_session *session, int32_t code)
{
    gw_sched_shares_close(sched, session);
    for (struct gw_job *job = session->jobs, *next; job; job = next) {
        next = job->session_next;
        bool no_actor = job->actor && job->tasks.count == 0;
        if (job->state == GW_JOB_OPEN && (job->detached || no_actor)) {
            gw_sched_job_drop(sched, job);
            continue;
        }
        if (job->detached || job->actor) /* an actor ends when no handle to it is left */
            continue;
        gw_sched_cancel_give_up(
            sched, job,
            &(struct gw_cancel){.reason = GW_KILL_SESSION, .by = session->remote->name});
    }
    gw_sync_request_session_end(sched, session);
    gw_sched_actor_on_session_closed(sched, session);
    gw_sched_tunnels_on_session_closed(sched, session->remote->peer);
    gw_sched_remote_close_session(sched, session);
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
    gw_sched_remote_close(sched, remote);
}

/* -- Clients inside attempts that have ended -------------------------------------------------- */

void gw_sched_remotes_settle(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->orphaned.count; i++) {
        struct gw_remote *remote = gw_sched_access_remote(sched, sched->orphaned.items[i]);
        if (!remote) /* the connection was closed in the same step */
            continue;
        gw_sched_send_close(sched, remote);
        gw_sched_remote_on_close(sched, remote->peer, 0);
    }
    gw_sched_noted_orphaned(sched);
}
