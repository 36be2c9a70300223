/* Workers that were connected in the previous term and that this term expects to reconnect. */

#include "scheduler/core/model/workers/hold.h"

#include "scheduler/core/model/workers/gpu_twin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gw_known *find(const struct gw_sched *sched, uint64_t incarnation)
{
    for (size_t i = 0; i < sched->hold.known.count; i++)
        if (sched->hold.known.items[i].incarnation == incarnation)
            return &sched->hold.known.items[i];
    return NULL;
}

bool gw_sched_hold_awaits(const struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->hold.known.count; i++)
        if (sched->hold.known.items[i].awaited)
            return true;
    return false;
}

void gw_sched_apply_worker_joined(struct gw_sched *sched, const struct gw_fact_worker_joined *fact)
{
    struct gw_known known = {.incarnation = fact->incarnation, .name = strdup(fact->name)};
    GW_MUST_PTR(known.name);
    GW_MUST(gw_array_push(&sched->hold.known, known));
}

void gw_sched_apply_worker_left(struct gw_sched *sched, const struct gw_fact_worker_left *fact)
{
    struct gw_known *known = find(sched, fact->incarnation);
    if (!known) /* the journal of an earlier term may contain this fact twice */
        return;
    free(known->name);
    sched->hold.leaving -= known->until_ns != 0;
    size_t at = (size_t)(known - sched->hold.known.items);
    memmove(known, known + 1, (--sched->hold.known.count - at) * sizeof *known);
}

void gw_sched_hold_on_registered(struct gw_sched *sched, struct gw_worker *worker)
{
    uint64_t joined = 0;
    if (!sched->options.keeps_workers)
        return;
    struct gw_known *known = find(sched, worker->incarnation);
    if (known) {
        known->awaited = false;
        sched->hold.leaving -= known->until_ns != 0;
        known->until_ns = 0;
    } else {
        const struct gw_remote *remote = worker->remote;
        char name[256];
        (void)snprintf(name, sizeof name, "%s%s%s", remote->name, *remote->address ? " on " : "",
                       remote->address);
        GW_FACT(sched, worker_joined, .incarnation = worker->incarnation, .name = name);
        joined = sched->facts + 1; /* number of this step's commit */
    }
    worker->joined = joined;
    if (joined && worker->state == GW_WORKER_CONNECTED)
        gw_sm_move(&gw_sched_worker_sm, &worker->state, GW_WORKER_REJOINING);
}

bool gw_sched_hold_knows(const struct gw_sched *sched, const struct gw_worker *worker)
{
    return worker->joined <= sched->committed;
}

static bool another_lives(const struct gw_sched *sched, const struct gw_worker *lost)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker != lost && worker->state != GW_WORKER_LOST &&
            worker->state != GW_WORKER_CONNECTED && worker->incarnation == lost->incarnation)
            return true;
    }
    return false;
}

/* Returns true if processes of a lost worker may still use its GPUs. A term that begins now must
 * wait for them. */
static bool may_live(const struct gw_sched *sched, const struct gw_worker *worker)
{
    return gw_sched_gpu_twin_own(worker) > 0 &&
           sched->now_ns < worker->heard_ns + sched->options.worker_lost_ns;
}

/* Returns the entry of a lost worker that has not reconnected on another connection, or NULL. */
static struct gw_known *known_gone(const struct gw_sched *sched, const struct gw_worker *worker)
{
    struct gw_known *known = find(sched, worker->incarnation);
    return worker->state != GW_WORKER_CONNECTED && known && !known->awaited &&
                   !another_lives(sched, worker)
               ? known
               : NULL;
}

void gw_sched_hold_on_lost(struct gw_sched *sched, const struct gw_worker *worker)
{
    if (known_gone(sched, worker) && !may_live(sched, worker))
        GW_FACT(sched, worker_left, .incarnation = worker->incarnation);
}

void gw_sched_hold_lose(struct gw_sched *sched, const struct gw_worker *worker)
{
    struct gw_known *known = known_gone(sched, worker);
    if (!known)
        return;
    sched->hold.leaving += known->until_ns == 0;
    known->until_ns = worker->heard_ns + sched->options.worker_lost_ns;
}

void gw_sched_hold_dump(const struct gw_sched *sched, struct gw_buffer *out)
{
    for (size_t i = 0; i < sched->hold.known.count; i++) {
        const struct gw_known *known = &sched->hold.known.items[i];
        GW_MUST(gw_buffer_append(out, &known->incarnation, sizeof known->incarnation));
        GW_MUST(gw_buffer_append(out, known->name, strlen(known->name) + 1));
    }
}

void gw_sched_hold_deinit(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->hold.known.count; i++)
        free(sched->hold.known.items[i].name);
    gw_array_deinit(&sched->hold.known);
}
