/* Objects (results of ranks) and their holders.
 *
 * Invariant: a task in state done has one object for each rank. The scheduler has the object (its
 * bytes or a token), or the object has holders. A holder is firm if its worker has the bytes.
 * Otherwise an attempt at this worker is fetching them, or the worker was told to keep a replica.
 * Such a holder counts for the placement near data, but no worker fetches from it. */
#include "scheduler/core/model/jobs/object.h"

#include "scheduler/core/model/columns.h"
#include "scheduler/core/model/jobs/edge.h"
#include "scheduler/core/model/jobs/event_log.h"
#include "scheduler/core/model/jobs/pure.h"
#include "scheduler/core/model/jobs/replica.h"

#include <assert.h>

enum { INPUTS_AHEAD = 4 };

/* -- Holders ---------------------------------------------------------------------------------- */

uint32_t gw_sched_object_holder_add(struct gw_sched *sched, uint32_t at, struct gw_worker *worker)
{
    uint32_t place = sched->free_holder;
    if (place != GW_NO_INDEX) {
        sched->free_holder = sched->holders.items[place].next;
    } else {
        place = (uint32_t)sched->holders.count;
        GW_MUST(gw_array_push(&sched->holders, (struct gw_holder){0}));
    }
    struct gw_object *object = &sched->objects.items[at];
    sched->holders.items[place] = (struct gw_holder){
        .object = at,
        .worker = worker->slot,
        .next = object->holders,
        .worker_prev = GW_NO_INDEX,
        .worker_next = worker->first_holder,
    };
    object->holders = place;
    if (worker->first_holder != GW_NO_INDEX)
        sched->holders.items[worker->first_holder].worker_prev = place;
    worker->first_holder = place;
    return place;
}

void gw_sched_object_holder_set_firm(struct gw_sched *sched, uint32_t place)
{
    struct gw_holder *holder = &sched->holders.items[place];
    if (holder->firm)
        return;
    gw_sched_object_found(sched, &sched->objects.items[holder->object]);
    holder->firm = true;
    sched->workers.items[holder->worker]->held_bytes += sched->objects.items[holder->object].bytes;
}

void gw_sched_object_holder_remove(struct gw_sched *sched, uint32_t place)
{
    struct gw_holder *holder = &sched->holders.items[place];
    struct gw_object *object = &sched->objects.items[holder->object];
    struct gw_worker *worker = sched->workers.items[holder->worker];
    uint32_t *link = &object->holders;
    while (*link != place)
        link = &sched->holders.items[*link].next;
    *link = holder->next;
    if (holder->worker_prev != GW_NO_INDEX)
        sched->holders.items[holder->worker_prev].worker_next = holder->worker_next;
    else
        worker->first_holder = holder->worker_next;
    if (holder->worker_next != GW_NO_INDEX)
        sched->holders.items[holder->worker_next].worker_prev = holder->worker_prev;
    if (holder->firm)
        worker->held_bytes -= object->bytes;
    if (holder->copying)
        gw_sched_replica_gone(sched, place);
    *holder = (struct gw_holder){.object = GW_NO_INDEX, .next = sched->free_holder};
    sched->free_holder = place;
}

uint32_t gw_sched_object_holder_of(const struct gw_sched *sched, uint32_t object,
                                   uint32_t worker_slot)
{
    uint32_t place = sched->objects.items[object].holders;
    while (place != GW_NO_INDEX && sched->holders.items[place].worker != worker_slot)
        place = sched->holders.items[place].next;
    return place;
}

uint32_t gw_sched_object_holder_any(const struct gw_sched *sched, uint32_t object,
                                    uint32_t worker_slot)
{
    uint32_t found = GW_NO_INDEX;
    for (uint32_t place = sched->objects.items[object].holders; place != GW_NO_INDEX;
         place = sched->holders.items[place].next) {
        if (!sched->holders.items[place].firm)
            continue;
        found = place;
        if (sched->holders.items[place].worker == worker_slot)
            break;
    }
    return found;
}

void gw_sched_object_recover(struct gw_sched *sched, uint32_t at, struct gw_worker *worker)
{
    const struct gw_object *object = &sched->objects.items[at];
    uint32_t place = gw_sched_object_holder_of(sched, at, worker->slot);
    GW_LOG_EVENT_USUAL(sched, object->job, .kind = GW_LOGGED_REGAINED, .index = object->index,
                       .worker = worker->id);
    if (place == GW_NO_INDEX)
        place = gw_sched_object_holder_add(sched, at, worker);
    gw_sched_object_holder_set_firm(sched, place);
}

uint32_t gw_sched_object_holder_copy(struct gw_sched *sched, uint32_t object,
                                     struct gw_worker *worker)
{
    uint32_t place = gw_sched_object_holder_of(sched, object, worker->slot);
    if (place == GW_NO_INDEX)
        place = gw_sched_object_holder_add(sched, object, worker);
    assert(!sched->holders.items[place].firm && !sched->holders.items[place].copying);
    sched->holders.items[place].copying = true;
    return place;
}

void gw_sched_object_holder_copied(struct gw_sched *sched, uint32_t place, bool well)
{
    struct gw_holder *holder = &sched->holders.items[place];
    gw_sched_replica_gone(sched, place);
    holder->copying = false;
    if (well)
        gw_sched_object_holder_set_firm(sched, place);
    else if (!holder->firm && holder->fetching == 0)
        gw_sched_object_holder_remove(sched, place);
}

/* -- Objects ---------------------------------------------------------------------------------- */

uint32_t gw_sched_objects_of(const struct gw_sched *sched, const struct gw_job *job, uint32_t row)
{
    struct gw_row original;
    if (!(job->tasks.flags[row] & GW_TASK_ALIAS))
        return job->tasks.object[row];
    if (job->tasks.state[row] != GW_TASK_DONE ||
        !gw_sched_pure_alias_of(sched, job, row, &original))
        return GW_NO_INDEX;
    return original.job->tasks.object[original.index];
}

uint32_t gw_sched_object_of(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                            uint32_t rank)
{
    uint32_t at = gw_sched_objects_of(sched, job, row);
    while (at != GW_NO_INDEX && sched->objects.items[at].rank != rank)
        at = sched->objects.items[at].next;
    return at;
}

const void *gw_sched_object_bytes(const struct gw_object *object)
{
    if (object->has_token || object->bytes != object->size)
        return NULL;
    return object->size > sizeof object->small ? object->value : object->small;
}

const void *gw_sched_object_value(const struct gw_object *object)
{
    return object->size <= GW_INLINE_BYTES_MAX ? gw_sched_object_bytes(object) : NULL;
}

bool gw_sched_object_here(const struct gw_object *object)
{
    return object->has_token || gw_sched_object_bytes(object) != NULL;
}

bool gw_sched_objects_whole(const struct gw_sched *sched, const struct gw_job *job, uint32_t row)
{
    uint32_t first = gw_sched_objects_of(sched, job, row);
    for (uint32_t at = first; at != GW_NO_INDEX; at = sched->objects.items[at].next)
        if (!gw_sched_object_here(&sched->objects.items[at]) &&
            gw_sched_object_holder_any(sched, at, GW_NO_INDEX) == GW_NO_INDEX)
            return false;
    return first != GW_NO_INDEX;
}

/* -- Inputs of a row -------------------------------------------------------------------------- */

void gw_sched_objects_ahead(const struct gw_sched *sched, const struct gw_tasks *tasks,
                            uint32_t row)
{
    uint32_t at = tasks->object[row];
    if (at == GW_NO_INDEX)
        return;
    /* And its end, which may be in the next cache line. */
    __builtin_prefetch(&sched->objects.items[at]);
    __builtin_prefetch(&sched->objects.items[at].has_token);
}

void gw_sched_object_inputs_prefetched(const struct gw_sched *sched, const struct gw_tasks *tasks,
                                       uint32_t row)
{
    uint32_t e = tasks->deps_at[row], end = gw_sched_deps_end(tasks, row);
    for (uint32_t last = end - e > INPUTS_AHEAD ? e + INPUTS_AHEAD : end; e < last; e++)
        if (!(tasks->dep[e] & (GW_EDGE_FAR | GW_EDGE_AFTER)))
            gw_sched_objects_ahead(sched, tasks, tasks->dep[e]);
}

void gw_sched_object_each_input(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                const struct gw_input_visit *visit)
{
    struct gw_tasks *tasks = &job->tasks;
    for (uint32_t e = tasks->deps_at[row]; e < gw_sched_deps_end(tasks, row); e++) {
        struct gw_row dep;
        uint32_t rank = gw_sched_dep_rank(tasks, e);
        if (rank == GW_DEP_AFTER || !gw_sched_dep(sched, job, e, &dep))
            continue;
        if (rank != GW_DEP_ALL) {
            uint32_t at = gw_sched_object_of(sched, dep.job, dep.index, rank);
            if (at != GW_NO_INDEX)
                visit->visit(sched, at, visit->arg);
            continue;
        }
        for (uint32_t at = gw_sched_objects_of(sched, dep.job, dep.index); at != GW_NO_INDEX;
             at = sched->objects.items[at].next)
            visit->visit(sched, at, visit->arg);
    }
}

struct fetch {
    struct gw_worker *worker;
    bool any;
};

static void input_fetch(struct gw_sched *sched, uint32_t at, void *arg)
{
    struct fetch *fetch = arg;
    if (gw_sched_object_value(&sched->objects.items[at]))
        return;
    uint32_t place = gw_sched_object_holder_of(sched, at, fetch->worker->slot);
    if (place == GW_NO_INDEX)
        place = gw_sched_object_holder_add(sched, at, fetch->worker);
    sched->holders.items[place].fetching++;
    fetch->any = true;
}

bool gw_sched_object_inputs_fetch(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                  struct gw_worker *worker)
{
    if (job->tasks.deps_at[row] == gw_sched_deps_end(&job->tasks, row))
        return false;
    struct fetch fetch = {worker, false};
    gw_sched_object_each_input(sched, job, row, &(struct gw_input_visit){input_fetch, &fetch});
    return fetch.any;
}

struct fetched {
    struct gw_worker *worker;
    bool well;
};

static void input_fetched(struct gw_sched *sched, uint32_t at, void *arg)
{
    const struct fetched *fetched = arg;
    uint32_t place = gw_sched_object_holder_of(sched, at, fetched->worker->slot);
    if (place == GW_NO_INDEX)
        return; /* it was released or computed again meanwhile */
    struct gw_holder *holder = &sched->holders.items[place];
    if (holder->fetching > 0)
        holder->fetching--;
    if (fetched->well)
        gw_sched_object_holder_set_firm(sched, place);
    else if (!holder->firm && holder->fetching == 0 && !holder->copying)
        gw_sched_object_holder_remove(sched, place);
}

void gw_sched_object_inputs_fetched(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                    struct gw_worker *worker, bool well)
{
    if (job->tasks.deps_at[row] == gw_sched_deps_end(&job->tasks, row))
        return;
    struct fetched fetched = {worker, well};
    gw_sched_object_each_input(sched, job, row, &(struct gw_input_visit){input_fetched, &fetched});
}

/* -- Results that a worker may bring back ----------------------------------------------------- */

void gw_sched_object_found(struct gw_sched *sched, struct gw_object *object)
{
    if (!object->absent)
        return;
    object->absent = false;
    if (object->job->pending_requests)
        GW_MUST(gw_array_push(&sched->revisited, object->job->id));
}

void gw_sched_objects_absent_over(struct gw_sched *sched)
{
    for (size_t at = 0; at < sched->objects.count; at++) {
        struct gw_object *object = &sched->objects.items[at];
        if (!object->job || !object->absent)
            continue;
        object->absent = false;
        GW_LOG_EVENT(sched, object->job, .kind = GW_LOGGED_LOST, .index = object->index);
        GW_MUST(gw_array_push(&sched->lost, (struct gw_row){object->job, object->index}));
        if (object->job->pending_requests)
            GW_MUST(gw_array_push(&sched->revisited, object->job->id));
    }
}
