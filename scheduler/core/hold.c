/* Holds.
 *
 * Always: a worker to which anything was sent is among those that are known on disk, so that the
 * next life waits for it. A worker ends what it runs 10 s after the last sign of a scheduler, and
 * each attempt to connect that was refused is older than the life that begins: what is not back
 * after GW_HOLD_NS runs no more. */
#include "scheduler/core/hold.h"

#include "scheduler/core/actor.h"
#include "scheduler/core/adopt.h"
#include "scheduler/core/gang_ask.h"
#include "scheduler/core/gpu_twin.h"
#include "scheduler/core/job.h"
#include "scheduler/core/question.h"
#include "scheduler/core/queue.h"
#include "scheduler/core/regain.h"
#include "scheduler/core/worker.h"

#include "graph/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GW_HOLD_NS (15 * GW_NS_PER_S)

static struct gw_known *find(const struct gw_sched *sched, uint64_t incarnation)
{
    for (size_t i = 0; i < sched->hold.known.count; i++)
        if (sched->hold.known.items[i].incarnation == incarnation)
            return &sched->hold.known.items[i];
    return NULL;
}

static bool awaits(const struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->hold.known.count; i++)
        if (sched->hold.known.items[i].awaited)
            return true;
    return false;
}

/* -- Who is connected ----------------------------------------------------------------------------
 */

void gw_sched_apply_worker_joined(struct gw_sched *sched, const struct gw_fact_worker_joined *fact)
{
    struct gw_known known = {.incarnation = fact->incarnation, .name = strdup(fact->name)};
    GW_MUST_PTR(known.name);
    GW_MUST(gw_array_push(&sched->hold.known, known));
}

void gw_sched_apply_worker_left(struct gw_sched *sched, const struct gw_fact_worker_left *fact)
{
    struct gw_known *known = find(sched, fact->incarnation);
    if (!known) /* facts of a life that wrote it twice */
        return;
    free(known->name);
    sched->hold.leaving -= known->until_ns != 0;
    size_t at = (size_t)(known - sched->hold.known.items);
    memmove(known, known + 1, (--sched->hold.known.count - at) * sizeof *known);
}

void gw_sched_apply_worker_back(struct gw_sched *sched, const struct gw_fact_worker_back *fact)
{
    struct gw_known *known = find(sched, fact->worker->incarnation);
    fact->worker->joined = fact->joined;
    if (fact->joined && fact->worker->state == GW_WORKER_GREETED)
        gw_sm_move(&gw_sched_worker_sm, &fact->worker->state, GW_WORKER_DRAINING);
    if (known) {
        known->awaited = false;
        sched->hold.leaving -= known->until_ns != 0;
        known->until_ns = 0;
    }
}

void gw_sched_hold_on_registered(struct gw_sched *sched, struct gw_worker *worker)
{
    uint64_t joined = 0;
    if (!sched->options.keeps_workers)
        return;
    if (!find(sched, worker->incarnation)) {
        const struct gw_remote *remote = worker->remote;
        char name[256];
        (void)snprintf(name, sizeof name, "%s%s%s", remote->name, *remote->address ? " on " : "",
                       remote->address);
        GW_FACT(sched, worker_joined, .incarnation = worker->incarnation, .name = name);
        joined = sched->facts + 1; /* of this step */
    }
    GW_FACT(sched, worker_back, .worker = worker, .joined = joined);
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
            worker->state != GW_WORKER_GREETED && worker->incarnation == lost->incarnation)
            return true;
    }
    return false;
}

/* Whether a worker that is lost may be on its GPUs yet: a life that begins now must wait for it. */
static bool may_live(const struct gw_sched *sched, const struct gw_worker *worker)
{
    return gw_sched_gpus_own(worker) > 0 && !GW_PLANTED(730) &&
           sched->now_ns < worker->heard_ns + sched->options.worker_lost_ns;
}

/* It is known, and did not come back by another connection. */
static struct gw_known *known_gone(const struct gw_sched *sched, const struct gw_worker *worker)
{
    struct gw_known *known = find(sched, worker->incarnation);
    return worker->state != GW_WORKER_GREETED && known && !known->awaited &&
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

static void settle_leaving(struct gw_sched *sched)
{
    for (size_t i = sched->hold.known.count; i-- > 0 && sched->hold.leaving;) {
        const struct gw_known *known = &sched->hold.known.items[i];
        if (known->until_ns && known->until_ns <= sched->now_ns)
            GW_FACT(sched, worker_left, .incarnation = known->incarnation);
    }
}

static uint64_t leaving_deadline_ns(const struct gw_sched *sched)
{
    uint64_t deadline_ns = UINT64_MAX;
    for (size_t i = 0; i < sched->hold.known.count && sched->hold.leaving; i++) {
        const struct gw_known *known = &sched->hold.known.items[i];
        if (known->until_ns && known->until_ns < deadline_ns)
            deadline_ns = known->until_ns;
    }
    return deadline_ns;
}

void gw_sched_hold_on_gone(struct gw_sched *sched, const char *name)
{
    for (size_t i = sched->hold.known.count; i-- > 0;) {
        const struct gw_known *known = &sched->hold.known.items[i];
        if (known->awaited && strcmp(known->name, name) == 0)
            GW_FACT(sched, worker_left, .incarnation = known->incarnation);
    }
}

bool gw_sched_hold_is_coming(const struct gw_sched *sched, const char *name)
{
    for (size_t i = 0; i < sched->hold.known.count && sched->hold.until_ns; i++)
        if (sched->hold.known.items[i].awaited &&
            strcmp(sched->hold.known.items[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_DRAINING && worker->remote &&
            strcmp(worker->remote->name, name) == 0)
            return true;
    }
    return false;
}

void gw_sched_hold_on_committed(struct gw_sched *sched)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->joined && worker->state == GW_WORKER_DRAINING)
            gw_sched_worker_ready_perhaps(sched, worker);
    }
}

/* -- The hold ------------------------------------------------------------------------------------
 */

void gw_sched_hold_begin(struct gw_sched *sched)
{
    if (sched->hold.known.count && sched->options.keeps_workers)
        GW_FACT(sched, hold_begun, .until_ns = sched->now_ns + GW_HOLD_NS);
    else
        gw_sched_gang_asks_over(sched);
}

void gw_sched_apply_hold_begun(struct gw_sched *sched, const struct gw_fact_hold_begun *fact)
{
    for (size_t i = 0; i < sched->hold.known.count; i++)
        sched->hold.known.items[i].awaited = true;
    if (GW_PLANTED(370))
        return;
    sched->hold.until_ns = fact->until_ns;
    for (struct gw_job *job = sched->first_job; job; job = job->next) {
        job->awaits = job->detached && job->state == GW_JOB_RUNNING;
        for (size_t i = 0; i < job->queues.count && job->awaits; i++)
            gw_sched_queue_hold(sched, job->queues.items[i]);
    }
}

void gw_sched_hold_on_spec(struct gw_sched *sched, struct gw_job *job, const struct gw_shape *shape)
{
    if (!sched->hold.until_ns || job->awaits || !(gw_sched_shape_gpus(shape) || shape->gpu_if_any))
        return;
    job->awaits = true;
    for (size_t i = 0; i < job->queues.count; i++)
        gw_sched_queue_hold(sched, job->queues.items[i]);
}

void gw_sched_hold_settle(struct gw_sched *sched)
{
    settle_leaving(sched);
    if (!sched->hold.until_ns || (sched->now_ns < sched->hold.until_ns && awaits(sched)))
        return;
    GW_FACT(sched, hold_over, .now_ns = sched->now_ns);
    gw_sched_adopt_over(sched);
    gw_sched_gang_asks_over(sched);
    for (size_t i = sched->hold.known.count; i-- > 0;)
        if (sched->hold.known.items[i].awaited)
            GW_FACT(sched, worker_left, .incarnation = sched->hold.known.items[i].incarnation);
}

void gw_sched_apply_hold_over(struct gw_sched *sched, const struct gw_fact_hold_over *fact)
{
    (void)fact;
    sched->hold.until_ns = 0;
    for (struct gw_job *job = sched->first_job; job; job = job->next) {
        if (!job->awaits)
            continue;
        job->awaits = false;
        for (size_t i = 0; i < job->queues.count && !job->paused; i++)
            gw_sched_queue_let(sched, job->queues.items[i]);
        gw_sched_actor_calls_let(sched, job);
    }
    sched->freed = true;
    gw_sched_regain_over(sched);
    gw_sched_questions_on_back(sched);
}

uint64_t gw_sched_hold_deadline_ns(const struct gw_sched *sched)
{
    uint64_t deadline_ns = leaving_deadline_ns(sched);
    return sched->hold.until_ns && sched->hold.until_ns < deadline_ns ? sched->hold.until_ns
                                                                      : deadline_ns;
}

void gw_sched_hold_explain(const struct gw_sched *sched, const char *may, char *to, size_t bytes)
{
    struct gw_text text = {to, bytes, 0};
    uint32_t said = 0;
    gw_text_say(&text,
                "the scheduler started again %.0f s ago; it waits up to %.0f s for workers that %s",
                (double)(sched->now_ns - sched->start_ns) / 1e9, (double)GW_HOLD_NS / 1e9, may);
    for (size_t i = 0; i < sched->hold.known.count; i++)
        if (sched->hold.known.items[i].awaited)
            gw_text_say(&text, "%s %s", said++ ? "," : ":", sched->hold.known.items[i].name);
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
