/* Tunnels between clients and running tasks.
 *
 * The scheduler does not buffer the data of a tunnel. Its two ends give each other credit, so at
 * most one window of data is on the way. Invariants: a tunnel that was passed to a worker has that
 * worker. When a tunnel loses its client, it is closed at its worker in the same step. A tunnel
 * ends with the first close message from either end, with its session, or with its worker. The
 * worker closes it when the rank has ended. */
#include "scheduler/core/requests/tunnel.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/send.h"
#include "scheduler/core/send/tunnel.h"

#include <assert.h>

static struct gw_tunnel *find(const struct gw_sched *sched, uint64_t id)
{
    uint64_t value;
    return gw_map_get(&sched->tunnels, id, &value) ? (struct gw_tunnel *)(uintptr_t)value : NULL;
}

/* -- Messages to the ends --------------------------------------------------------------------- */

static void tell_worker(struct gw_sched *sched, const struct gw_tunnel *tunnel)
{
    struct gw_error error = {0};
    const struct gw_worker *worker = gw_sched_worker_find(sched, tunnel->worker);
    if (worker && worker->state != GW_WORKER_LOST)
        gw_sched_tunnel_send_close(sched, worker->remote, tunnel->id, &error);
}

/* -- Opening ---------------------------------------------------------------------------------- */

/* Returns the worker at which the rank runs, or NULL if the rank does not run now. */
static struct gw_worker *place_of(const struct gw_sched *sched, const struct gw_job *job,
                                  const struct gw_msg_tunnel_open *open, uint64_t *attempt)
{
    const struct gw_gang_attempt *gang = gw_sched_gang_of(sched, job, open->index);
    uint32_t id = 0;
    *attempt = job->tasks.attempt[open->index];
    if (gang && gang->state == GW_GANG_RUNNING && open->rank < gang->count &&
        !gang->ranks[open->rank].finished)
        id = gang->ranks[open->rank].worker;
    else if (open->rank == GW_RANK_NONE && job->tasks.state[open->index] == GW_TASK_PLACED &&
             (job->tasks.flags[open->index] & GW_TASK_STARTED))
        id = job->tasks.worker[open->index];
    return id ? gw_sched_worker_find(sched, id) : NULL;
}

/* Returns how many ranks the last attempt of a gang had, or 0 if none ran. A gang may have started
 * with fewer ranks than the job asked for. */
static uint32_t ranks_run(const struct gw_job *job, uint32_t index)
{
    uint32_t ranks = 0;
    uint64_t attempt = 0;
    for (size_t i = job->places.count; i-- > 0;) {
        const struct gw_place *place = &job->places.items[i];
        if (place->index != index || (attempt && place->attempt != attempt))
            continue;
        attempt = place->attempt;
        ranks = place->rank != GW_RANK_NONE && place->rank >= ranks ? place->rank + 1 : ranks;
    }
    return ranks;
}

/* Returns the worker at which the last attempt ran, if the task's folder still exists there after
 * the end of the task. */
static struct gw_worker *left_at(struct gw_sched *sched, const struct gw_job *job,
                                 const struct gw_msg_tunnel_open *open, struct gw_error *error)
{
    const struct gw_msg_spec *spec = &job->specs.items[job->tasks.spec[open->index]].message;
    uint32_t id = open->rank == GW_RANK_NONE ? job->tasks.worker[open->index] : 0;
    bool ran = id != 0;
    for (size_t i = job->places.count; i-- > 0 && !ran;) {
        ran = job->places.items[i].index == open->index && job->places.items[i].rank == open->rank;
        if (ran)
            id = gw_sched_place_worker(sched, &job->places.items[i]);
    }
    struct gw_worker *worker = id ? gw_sched_worker_find(sched, id) : NULL;
    if (spec->kind != GW_SPEC_COMMAND || (!*spec->cwd && !spec->files.size))
        gw_error_set(error, GW_ENOENT,
                     "task %u of job %llu has ended, and no folder of it is kept: only a task with "
                     "files of its own (--ship) leaves one",
                     open->index, (unsigned long long)open->job);
    else if (!ran && ranks_run(job, open->index))
        gw_error_set(error, GW_EINVAL, "there is no rank %u: the last attempt had ranks 0 to %u",
                     open->rank, ranks_run(job, open->index) - 1);
    else if (!ran)
        gw_error_set(error, GW_ENOENT, "task %u of job %llu never ran, so it has no files",
                     open->index, (unsigned long long)open->job);
    else if (!worker || worker->state == GW_WORKER_LOST)
        gw_error_set(error, GW_ELOST, "the worker of the task was lost%s",
                     spec->files.size ? ", together with the folder of the task" : "");
    return error->code ? NULL : worker;
}

/* Returns true if the client already reaches this worker's checkpoint folder through another rank:
 * the worker is the checkpoint's home, or a lower rank of the last attempt ran there. */
static bool is_told_of(struct gw_sched *sched, const struct gw_job *job,
                       const struct gw_msg_tunnel_open *open, const struct gw_worker *worker)
{
    uint64_t attempt = 0;
    if (gw_sched_checkpoint_home(sched, job, open->index) == worker->id)
        return true;
    for (size_t i = job->places.count; i-- > 0;) {
        const struct gw_place *place = &job->places.items[i];
        if (place->index != open->index || (attempt && place->attempt != attempt))
            continue;
        attempt = place->attempt;
        if (place->rank < open->rank && gw_sched_place_worker(sched, place) == worker->id)
            return true;
    }
    return false;
}

/* Returns the worker that has the checkpoint folder of a task, or of the given rank of a gang. */
static struct gw_worker *checkpoint_at(struct gw_sched *sched, const struct gw_job *job,
                                       const struct gw_msg_tunnel_open *open,
                                       struct gw_error *error)
{
    const bool gang = open->rank != GW_RANK_NONE;
    uint32_t id = gang ? 0 : job->tasks.worker[open->index];
    if (gang && open->rank == 0)
        id = gw_sched_checkpoint_home(sched, job, open->index);
    for (size_t i = job->places.count; i-- > 0 && !id;)
        if (job->places.items[i].index == open->index && job->places.items[i].rank == open->rank)
            id = gw_sched_place_worker(sched, &job->places.items[i]);
    struct gw_worker *worker = id ? gw_sched_worker_find(sched, id) : NULL;
    if (job->compacted)
        gw_error_set(
            error, GW_ENOENT,
            "job %llu has ended, and its checkpoints were removed with it: --checkpoint-dir copies "
            "those of an attached job, and those of a detached job stay",
            (unsigned long long)open->job);
    else if (gang && open->rank && open->rank >= ranks_run(job, open->index))
        gw_error_set(error, GW_EINVAL, "there is no rank %u: the last attempt had %u ranks",
                     open->rank, ranks_run(job, open->index));
    else if (!id)
        gw_error_set(error, GW_ENOENT, "task %u of job %llu never ran, so it has no files",
                     open->index, (unsigned long long)open->job);
    else if (!worker || worker->state == GW_WORKER_LOST)
        gw_error_set(
            error, GW_ELOST,
            "the worker of the task was lost, together with the folder of its checkpoints");
    else if (gang && open->rank && is_told_of(sched, job, open, worker))
        gw_error_set(error, GW_EEXIST,
                     "rank %u ran on the same worker as a lower rank: the folder of that rank has "
                     "the files of both",
                     open->rank);
    return error->code ? NULL : worker;
}

static int check_open(struct gw_sched *sched, const struct gw_remote *remote,
                      struct gw_msg_tunnel_open *open, struct gw_error *error)
{
    struct gw_job *job = gw_sched_job_find(sched, open->job);
    int rc =
        gw_sched_access_row(job, open->job, open->index, gw_sched_access_uid(remote, job), error);
    if (rc < 0)
        return rc;
    uint32_t ranks = job->specs.items[job->tasks.spec[open->index]].message.ranks;
    if (ranks == 0 && open->rank != 0 && open->rank != GW_RANK_NONE)
        return gw_error_set(error, GW_EINVAL,
                            "task %u of job %llu is not a gang and has no rank %u", open->index,
                            (unsigned long long)open->job, open->rank);
    if (ranks > 0 && open->rank == GW_RANK_NONE)
        open->rank = 0;
    if (ranks > 0 && open->rank >= ranks)
        return gw_error_set(error, GW_EINVAL, "there is no rank %u: the ranks are 0 to %u",
                            open->rank, ranks - 1);
    if (ranks == 0)
        open->rank = GW_RANK_NONE;
    /* A waiting tunnel has a limit of its own: it costs other clients nothing, and the input of a
     * task that starts later must get through. */
    if (sched->tunnels.count - sched->tunnels_waiting >= GW_TUNNELS_MAX ||
        sched->tunnels_waiting >= GW_TUNNELS_WAITING_MAX)
        return gw_error_set(error, GW_ELIMIT,
                            "%d tunnels (connections to tasks, as for `exec`, `get` and `forward`) "
                            "are open, which is the most: close some",
                            GW_TUNNELS_MAX);
    return 0;
}

/* Passes a tunnel on to its worker, or ends it with an error. Returns false if the tunnel continues
 * to wait. */
static bool try_open(struct gw_sched *sched, struct gw_tunnel *tunnel)
{
    struct gw_msg_tunnel_open *open = &tunnel->open;
    struct gw_job *job = gw_sched_job_find(sched, open->job);
    struct gw_error error = {0};
    uint64_t attempt;
    struct gw_worker *worker = NULL;
    const char *cwd = "";
    bool live = job && gw_sched_row_live(job, open->index);
    if (live && open->left == GW_LEFT_CHECKPOINT) {
        worker = checkpoint_at(sched, job, open, &error);
        attempt = 0;
    } else if (live && gw_sched_task_final(job, open->index) && open->left) {
        worker = left_at(sched, job, open, &error);
        const struct gw_msg_spec *spec = &job->specs.items[job->tasks.spec[open->index]].message;
        /* A task with files has a folder of its own, whose path the worker knows. */
        cwd = spec->files.size ? "" : spec->cwd;
        attempt = 0;
    } else if (!live || gw_sched_task_final(job, open->index)) {
        gw_error_set(&error, GW_ENOENT,
                     "task %u of job %llu has ended, so no process can be started beside it",
                     open->index, (unsigned long long)open->job);
    } else {
        worker = place_of(sched, job, open, &attempt);
        if (!worker && open->wait)
            return false;
        if (!worker)
            gw_error_set(&error, GW_EAGAIN,
                         "task %u of job %llu does not run yet: `gangway explain` says why",
                         open->index, (unsigned long long)open->job);
    }
    if (!worker) {
        gw_sched_tunnel_tell_client(sched, tunnel, &error);
        gw_sched_tunnel_end(sched, tunnel);
        return true;
    }
    gw_sched_tunnel_pass(sched, tunnel, worker);
    struct gw_bin argv = gw_sched_send_bin(sched, open->argv);
    cwd = gw_sched_send_text(sched, cwd);
    char user[GW_USER_NAME_MAX];
    struct gw_msg_tunnel_open *passed =
        &gw_sched_send(sched, worker->remote, GW_MESSAGE_tunnel_open)->tunnel_open;
    *passed = *open;
    passed->request = tunnel->id;
    passed->attempt = attempt;
    passed->argv = argv;
    passed->cwd = cwd;
    passed->user = gw_sched_send_text(sched, gw_user_name(sched, job->uid, user));
    return true;
}

void gw_sched_on_tunnel_open(struct gw_sched *sched, struct gw_remote *remote,
                             const struct gw_msg_tunnel_open *open)
{
    struct gw_error error = {0};
    struct gw_tunnel wish = {.peer = remote->peer, .open = *open};
    if (check_open(sched, remote, &wish.open, &error) < 0) {
        gw_sched_tunnel_answer(sched, remote, open->request, 0, &error);
        return;
    }
    gw_sched_tunnel_ask(sched, &wish);
    (void)try_open(sched, find(sched, sched->next_tunnel));
}

void gw_sched_tunnels_follow(struct gw_sched *sched)
{
    uint64_t id, value;
    for (size_t at = 0;
         sched->tunnels_waiting > 0 && gw_map_next(&sched->tunnels, &at, &id, &value);) {
        struct gw_tunnel *tunnel = (struct gw_tunnel *)(uintptr_t)value;
        if (tunnel->state == GW_TUNNEL_WAITING && try_open(sched, tunnel))
            at = 0; /* start again: the call may have removed a tunnel from the map */
    }
}

/* -- Passing messages on ---------------------------------------------------------------------- */

static uint64_t tunnel_of(const struct gw_message *message)
{
    switch (message->type) {
    case GW_MESSAGE_tunnel_opened:
        return message->tunnel_opened.request;
    case GW_MESSAGE_tunnel_data:
        return message->tunnel_data.tunnel;
    case GW_MESSAGE_tunnel_credit:
        return message->tunnel_credit.tunnel;
    default:
        return message->tunnel_close.tunnel;
    }
}

static int pass(struct gw_sched *sched, struct gw_remote *to, const struct gw_message *message)
{
    if (message->type == GW_MESSAGE_tunnel_data) {
        if (message->tunnel_data.data.size > GW_TUNNEL_DATA_BYTES)
            return GW_EPROTO;
        struct gw_bin data = gw_sched_send_bin(sched, message->tunnel_data.data);
        struct gw_msg_tunnel_data *out =
            &gw_sched_send(sched, to, GW_MESSAGE_tunnel_data)->tunnel_data;
        *out = (struct gw_msg_tunnel_data){message->tunnel_data.tunnel, data};
    } else {
        gw_sched_send(sched, to, GW_MESSAGE_tunnel_credit)->tunnel_credit = message->tunnel_credit;
    }
    return 0;
}

int gw_sched_tunnel_from_client(struct gw_sched *sched, struct gw_remote *remote,
                                const struct gw_message *message)
{
    struct gw_tunnel *tunnel = find(sched, tunnel_of(message));
    if (!tunnel || tunnel->peer.id != remote->peer.id)
        return 0; /* the worker has closed the tunnel meanwhile */
    if (message->type == GW_MESSAGE_tunnel_close) {
        tell_worker(sched, tunnel);
        gw_sched_tunnel_end(sched, tunnel);
        return 0;
    }
    if (tunnel->state != TUNNEL_STANDS)
        return GW_EPROTO;
    const struct gw_worker *worker = gw_sched_worker_find(sched, tunnel->worker);
    return pass(sched, worker->remote, message);
}

int gw_sched_tunnel_from_worker(struct gw_sched *sched, struct gw_worker *worker,
                                const struct gw_message *message)
{
    struct gw_tunnel *tunnel = find(sched, tunnel_of(message));
    if (!tunnel || tunnel->worker != worker->id)
        return 0;
    struct gw_remote *remote = gw_sched_access_remote(sched, tunnel->peer);
    struct gw_error error = {0};
    if (message->type == GW_MESSAGE_tunnel_opened && message->tunnel_opened.code == 0) {
        if (tunnel->state != TUNNEL_PASSED)
            return GW_EPROTO;
        gw_sched_tunnel_stand(tunnel);
        gw_sched_tunnel_answer(sched, remote, tunnel->open.request, tunnel->id, &error);
        return 0;
    }
    if (message->type == GW_MESSAGE_tunnel_opened || message->type == GW_MESSAGE_tunnel_close) {
        bool opened = message->type == GW_MESSAGE_tunnel_opened;
        int code = opened ? message->tunnel_opened.code : message->tunnel_close.code;
        if (code < 0)
            gw_error_set(&error, code, "%s",
                         opened ? message->tunnel_opened.text : message->tunnel_close.text);
        if (opened && tunnel->state != TUNNEL_PASSED)
            return GW_EPROTO;
        if (!opened && tunnel->state == TUNNEL_PASSED && code == 0)
            return GW_EPROTO; /* without an error code the client would think that the tunnel is
                                 open */
        gw_sched_tunnel_tell_client(sched, tunnel, &error);
        gw_sched_tunnel_end(sched, tunnel);
        return 0;
    }
    return tunnel->state == TUNNEL_STANDS ? pass(sched, remote, message) : GW_EPROTO;
}

/* -- End of a session or worker --------------------------------------------------------------- */

void gw_sched_tunnels_on_session_closed(struct gw_sched *sched, gw_peer peer)
{
    uint64_t id, value;
    for (size_t at = 0; gw_map_next(&sched->tunnels, &at, &id, &value);) {
        struct gw_tunnel *tunnel = (struct gw_tunnel *)(uintptr_t)value;
        if (tunnel->peer.id != peer.id)
            continue;
        tell_worker(sched, tunnel);
        gw_sched_tunnel_end(sched, tunnel);
        at = 0; /* start again: the map has changed */
    }
}

void gw_sched_tunnels_check(const struct gw_sched *sched)
{
    uint64_t id, value;
    uint32_t waiting = 0;
    for (size_t at = 0; gw_map_next(&sched->tunnels, &at, &id, &value);) {
        const struct gw_tunnel *tunnel = (const struct gw_tunnel *)(uintptr_t)value;
        assert(tunnel->id == id && gw_sched_access_remote(sched, tunnel->peer));
        if (tunnel->state == GW_TUNNEL_WAITING)
            waiting++;
        else
            assert(gw_sched_worker_find(sched, tunnel->worker));
    }
    assert(waiting == sched->tunnels_waiting);
}
