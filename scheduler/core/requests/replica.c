/* Makes replicas of results on request of clients.
 *
 * Invariant: the worker that makes a replica is a holder of the object that is not firm yet (it
 * does not have the bytes), and the replica has an entry in sched->replicas. It is removed
 * together with that holder, with the object, and with its worker.
 *
 * A request is checked again whenever one of its replicas arrived or failed, or its job changed.
 * So a replica that is lost before the answer is made again, but a replica that is lost after the
 * answer is not.
 *
 * A holder of an object serves at most SERVED_AT_A_TIME replicas at once, so an object spreads to
 * many workers like a tree. */
#include "scheduler/core/requests/replica.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/assign.h"
#include "scheduler/core/send/send.h"

#include <stdlib.h>

enum {
    TRIES_MAX = 3,        /* attempts of one worker if the transfer failed */
    SERVED_AT_A_TIME = 2, /* transfers from one holder at once */
};

/* -- Counting replicas ------------------------------------------------------------------------ */

/* Where an object is, and where it could be copied to. */
struct picture {
    uint32_t counted;       /* workers that match the request */
    uint32_t firm, copying; /* holders among these workers */
    /* Workers that could take a copy, and workers that have one. */
    GW_ARRAY(struct gw_worker *) targets, sources;
    bool here;                                /* the scheduler itself has the object */
    const struct gw_replica_trouble *trouble; /* failure of a matching worker that takes no copy */
    const struct gw_worker *full;             /* a matching worker that is short of memory */
};

static const struct gw_replica_trouble *trouble_of(const struct gw_replication *replication,
                                                   const struct gw_worker *worker)
{
    for (size_t i = 0; i < replication->troubles.count; i++) {
        const struct gw_replica_trouble *trouble = &replication->troubles.items[i];
        if (trouble->worker == worker->id &&
            (trouble->tries >= TRIES_MAX || trouble->code == GW_ELIMIT))
            return trouble;
    }
    return NULL;
}

static void look_at(const struct gw_replication *replication, struct gw_worker *worker,
                    const struct gw_holder *holder, struct picture *picture)
{
    const struct gw_replica_trouble *trouble = trouble_of(replication, worker);
    if (replication->workers && !gw_sched_need_names(replication->workers, worker))
        return;
    picture->counted++;
    if (holder && holder->firm)
        picture->firm++;
    else if (holder && holder->copying)
        picture->copying++;
    else if (trouble)
        picture->trouble = trouble;
    else if (worker->memory.state != GW_MEMORY_OPEN)
        picture->full = worker;
    else
        GW_MUST(gw_array_push(&picture->targets, worker));
}

static void look(struct gw_sched *sched, const struct gw_replication *replication, uint32_t at,
                 struct picture *picture)
{
    const struct gw_object *object = &sched->objects.items[at];
    *picture = (struct picture){.here = gw_sched_object_here(object)};
    uint64_t epoch = gw_sched_worker_scores(sched);
    for (uint32_t place = object->holders; place != GW_NO_INDEX;
         place = sched->holders.items[place].next) {
        struct gw_worker *worker = sched->workers.items[sched->holders.items[place].worker];
        gw_sched_worker_score(worker, epoch, place);
        if (sched->holders.items[place].firm)
            GW_MUST(gw_array_push(&picture->sources, worker));
    }
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY)
            look_at(replication, worker,
                    worker->score_epoch == epoch ? &sched->holders.items[worker->score] : NULL,
                    picture);
    }
}

static void picture_deinit(struct picture *picture)
{
    gw_array_deinit(&picture->targets);
    gw_array_deinit(&picture->sources);
}

/* -- Copying ---------------------------------------------------------------------------------- */

/* Sorts workers by the bytes that they hold, fewest first, so that replicas are spread. */
static int by_held(const void *a, const void *b)
{
    const struct gw_worker *const *x = a, *const *y = b;
    if ((*x)->held_bytes != (*y)->held_bytes)
        return (*x)->held_bytes < (*y)->held_bytes ? -1 : 1;
    return (*x)->id < (*y)->id ? -1 : 1;
}

static void begin(struct gw_sched *sched, uint64_t pending, uint32_t at,
                  const struct picture *picture, uint32_t nth)
{
    const struct gw_object *object = &sched->objects.items[at];
    struct gw_worker *target = picture->targets.items[nth], *source = NULL;
    size_t sources = picture->sources.count + picture->here;
    size_t which = (picture->copying + nth + sched->next_relay) % sources;
    if (which < picture->sources.count)
        source = picture->sources.items[which];
    if (source)
        gw_sched_assign_neighbour(sched, target, source);
    uint64_t number = sched->next_relay;
    gw_sched_send(sched, target->remote, GW_MESSAGE_replica_request)->replica_request =
        (struct gw_msg_replica_request){.request = number,
                                        .job = object->job->id,
                                        .index = object->index,
                                        .rank = object->rank,
                                        .bytes = object->bytes,
                                        .worker = source ? source->id : 0};
    gw_sched_replica_begin(sched, at, target, number, pending);
}

/* Writes why there are fewer replicas than the client asked for. */
static void explain(const struct picture *picture, uint32_t wanted, bool named,
                    struct gw_error *error)
{
    const char *only = named ? " of these names" : "";
    if (picture->trouble)
        gw_error_set(error, picture->trouble->code, "%u of %u workers have a copy: worker %u: %s",
                     picture->firm, wanted, picture->trouble->worker, picture->trouble->text);
    else if (picture->full)
        gw_error_set(error, GW_ELIMIT,
                     "%u of %u workers have a copy: worker %u has too little free memory for one",
                     picture->firm, wanted, picture->full->id);
    else if (picture->counted == 0)
        gw_error_set(error, GW_EINFEASIBLE, "no copy can be made: no worker%s is connected", only);
    else
        gw_error_set(error, GW_EINFEASIBLE, "%u of %u workers have a copy: there %s only %u%s",
                     picture->firm, wanted, picture->counted == 1 ? "is" : "are", picture->counted,
                     only);
}

/* Result of a look at all ranks of a task. */
struct tally {
    uint32_t copies;
    bool under_way;
    struct gw_error error; /* why the first rank with too few replicas gets no more of them */
};

static void top_up(struct gw_sched *sched, const struct gw_pending_request *pending, uint32_t at,
                   struct tally *tally)
{
    const struct gw_replication *replication = pending->replication;
    struct picture picture;
    look(sched, replication, at, &picture);
    uint32_t wanted = replication->copies ? replication->copies : picture.counted;
    uint32_t sources = (uint32_t)picture.sources.count + picture.here;
    uint32_t missing =
        wanted > picture.firm + picture.copying ? wanted - picture.firm - picture.copying : 0;
    uint32_t room = sources * SERVED_AT_A_TIME > picture.copying
                        ? sources * SERVED_AT_A_TIME - picture.copying
                        : 0;
    if (picture.targets.count > 1)
        qsort(picture.targets.items, picture.targets.count, sizeof *picture.targets.items, by_held);
    uint32_t begun = 0;
    for (; begun < missing && begun < room && begun < picture.targets.count; begun++)
        begin(sched, pending->relay, at, &picture, begun);
    if (picture.copying || begun)
        tally->under_way = true;
    else if (!tally->error.code && (picture.firm < wanted || !wanted))
        explain(&picture, wanted, replication->workers != NULL, &tally->error);
    if (picture.firm < tally->copies)
        tally->copies = picture.firm;
    picture_deinit(&picture);
}

/* -- Requests --------------------------------------------------------------------------------- */

static void answer(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                   uint32_t copies, const struct gw_error *error)
{
    struct gw_msg_replicated *replicated =
        &gw_sched_send(sched, remote, GW_MESSAGE_replicated)->replicated;
    replicated->request = request;
    replicated->code = error->code;
    replicated->text = error->code ? gw_sched_send_text(sched, error->text) : "";
    replicated->copies = copies;
}

bool gw_sched_replica_try(struct gw_sched *sched, struct gw_remote *remote,
                          const struct gw_pending_request *pending)
{
    struct gw_job *job = gw_sched_job_find(sched, pending->job);
    uint32_t row = pending->index;
    struct tally tally = {.copies = UINT32_MAX};
    bool live = gw_sched_row_live(job, row);
    if (live && !gw_sched_task_final(job, row))
        return false;
    const struct gw_failure *failure = live ? gw_sched_task_failure_of(job, row) : NULL;
    if (failure) {
        gw_error_set(&tally.error, failure->code, "%s", failure->text);
    } else if (!live || job->tasks.state[row] == GW_TASK_RELEASED) {
        gw_error_set(&tally.error, GW_ENOENT,
                     "the result of task %u of job %llu was released, because no future held it "
                     "any more: keep a future of it, or publish it",
                     row, (unsigned long long)job->id);
    } else if (!gw_sched_objects_whole(sched, job, row)) {
        return false; /* the task computes its lost result again, and this request is tried again
                         after that */
    } else {
        for (uint32_t at = gw_sched_objects_of(sched, job, row); at != GW_NO_INDEX;
             at = sched->objects.items[at].next)
            top_up(sched, pending, at, &tally);
    }
    if (tally.under_way)
        return false;
    answer(sched, remote, pending->request, tally.copies == UINT32_MAX ? 0 : tally.copies,
           &tally.error);
    return true;
}

static int check(const struct gw_sched *sched, const struct gw_job *job,
                 const struct gw_msg_replicate *replicate, uint32_t uid, struct gw_error *error)
{
    int rc = gw_sched_access_row(job, replicate->job, replicate->index, uid, error);
    if (rc == 0 && job->actor)
        rc = gw_error_set(error, GW_EINVAL,
                          "job %llu is an actor, which has no result that can be copied",
                          (unsigned long long)job->id);
    if (rc == 0 && sched->shutting_down)
        rc =
            gw_error_set(error, GW_ECLOSED, "this cluster is shutting down, so no copies are made");
    return rc;
}

void gw_sched_on_replicate(struct gw_sched *sched, struct gw_remote *remote,
                           const struct gw_msg_replicate *replicate)
{
    struct gw_job *job = gw_sched_job_find(sched, replicate->job);
    const struct gw_msg_spec like = {.resources = "", .workers = replicate->workers};
    struct gw_error error = {0};
    struct gw_need *workers = NULL;
    int rc = check(sched, job, replicate, remote->uid, &error);
    if (rc == 0)
        rc = gw_sched_need_new(&like, &workers, &error);
    if (rc == 0 && workers)
        rc = gw_sched_need_here(sched, workers, &error);
    if (rc < 0) {
        gw_sched_need_unref(workers);
        answer(sched, remote, replicate->request, 0, &error);
        return;
    }
    struct gw_replication *replication = calloc(1, sizeof *replication);
    GW_MUST_PTR(replication);
    replication->copies = replicate->copies;
    replication->workers = workers;
    gw_sched_pending_ask(sched, &(struct gw_pending_request){.type = GW_MESSAGE_replicate,
                                                             .peer = remote->peer,
                                                             .request = replicate->request,
                                                             .job = replicate->job,
                                                             .index = replicate->index,
                                                             .replication = replication});
}

void gw_sched_on_replica_reply(struct gw_sched *sched, struct gw_worker *worker,
                               const struct gw_msg_replica_reply *reply)
{
    struct gw_job *job = gw_sched_job_find(sched, reply->job);
    if (!job || !gw_sched_row_live(job, reply->index))
        return;
    uint32_t at = gw_sched_object_of(sched, job, reply->index, reply->rank);
    uint32_t holder =
        at == GW_NO_INDEX ? GW_NO_INDEX : gw_sched_object_holder_of(sched, at, worker->slot);
    if (holder == GW_NO_INDEX || !sched->holders.items[holder].copying ||
        gw_sched_replica_at(sched, holder)->number != reply->request)
        return; /* the replica was released or requested again meanwhile */
    gw_sched_replica_end(sched, at, worker, reply->code < 0 ? reply->code : 0, reply->text);
}
