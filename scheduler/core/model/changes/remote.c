/* Connections and sessions of clients. */
#include "scheduler/core/model/changes/changes.h"

#include "scheduler/core/model/jobs/actor.h"
#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gw_session *session_new(struct gw_sched *sched, struct gw_remote *remote)
{
    struct gw_session *session = calloc(1, sizeof *session);
    GW_MUST_PTR(session);
    session->remote = remote;
    session->attempt = GW_NO_INDEX;
    session->next = sched->sessions;
    if (sched->sessions)
        sched->sessions->prev = session;
    sched->sessions = session;
    sched->session_count++;
    return session;
}

void gw_sched_remote_open(struct gw_sched *sched, const struct gw_event *event, uint64_t id,
                          uint32_t attempt)
{
    struct gw_remote *remote = calloc(1, sizeof *remote);
    GW_MUST_PTR(remote);
    *remote = (struct gw_remote){.peer = event->peer,
                                 .id = id,
                                 .role = event->role,
                                 .uid = event->uid,
                                 .owner = event->owner,
                                 .admin = event->admin && event->role == GW_ROLE_CLIENT};
    remote->name = strdup(event->text ? event->text : "");
    GW_MUST_PTR(remote->name);
    (void)snprintf(remote->address, sizeof remote->address, "%s",
                   event->address ? event->address : "");
    sched->next_remote = id + 1;
    GW_MUST(gw_map_put(&sched->remotes, event->peer.id, (uintptr_t)remote));
    if (event->role == GW_ROLE_WORKER)
        gw_sched_worker_new(sched, remote);
    else
        remote->session = session_new(sched, remote);
    if (attempt != GW_NO_INDEX)
        gw_sched_attempt_session_begin(sched, attempt, remote->session);
}

void gw_sched_remote_hear(struct gw_sched *sched, struct gw_remote *remote, uint64_t sequence)
{
    remote->seen = sequence;
    if (remote->worker)
        remote->worker->heard_ns = sched->now_ns;
}

void gw_sched_remote_close_session(struct gw_sched *sched, struct gw_session *session)
{
    bool retained = false;
    while (session->jobs) {
        struct gw_job *job = session->jobs;
        gw_sched_job_leave_session(job);
        GW_MUST(gw_array_push(&sched->aging, job->id));
        retained = retained || job->retained;
        if (job->state == GW_JOB_OPEN) /* the job was cancelled, and no more chunks will arrive */
            gw_sched_job_seal(sched, job, sched->wall_ns);
    }
    if (retained)
        gw_sched_job_revisit_all(sched, &sched->retained);
    if (session->prev)
        session->prev->next = session->next;
    else
        sched->sessions = session->next;
    if (session->next)
        session->next->prev = session->prev;
    sched->session_count--;
    gw_sched_attempt_session_leave(sched, session);
    if (sched->session_count == 0)
        sched->idle_since_ns = sched->now_ns;
    gw_sched_rows_forget(sched, NULL, session);
    gw_sched_actor_forget_session(sched, session);
    session->remote->session = NULL;
    gw_map_deinit(&session->requests);
    gw_map_deinit(&session->refused);
    gw_map_deinit(&session->shares);
    gw_done_rows_deinit(&session->done);
    free(session);
}

void gw_sched_remote_free(struct gw_sched *sched, struct gw_remote *remote)
{
    if (remote->session) {
        gw_map_deinit(&remote->session->requests);
        gw_map_deinit(&remote->session->refused);
        gw_map_deinit(&remote->session->shares);
        gw_done_rows_deinit(&remote->session->done);
        free(remote->session);
    }
    if (remote->worker)
        gw_sched_worker_free(sched, remote->worker);
    free(remote->name);
    free(remote);
}

void gw_sched_remote_close(struct gw_sched *sched, struct gw_remote *remote)
{
    (void)gw_map_remove(&sched->remotes, remote->peer.id);
    gw_sched_remote_free(sched, remote);
}
