/* Marks pending requests to be tried again after a change. */
#include "scheduler/core/model/jobs/pending.h"

#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/replica.h"

#include <stdlib.h>
void gw_sched_pending_on_back(struct gw_sched *sched)
{
    size_t at = 0;
    uint64_t relay, value;
    while (gw_map_next(&sched->pending_requests, &at, &relay, &value)) {
        const struct gw_pending_request *pending =
            (const struct gw_pending_request *)(uintptr_t)value;
        if (pending->worker == 0 && (pending->type == GW_MESSAGE_log_read || sched->hold.until_ns))
            GW_MUST(gw_array_push(&sched->revisited, pending->job));
    }
}

void gw_sched_pending_on_placed(struct gw_sched *sched, const struct gw_job *job)
{
    size_t count = sched->followed.count;
    if (job->pending_requests && (count == 0 || sched->followed.items[count - 1] != job->id))
        GW_MUST(gw_array_push(&sched->followed, job->id));
}

void gw_sched_pending_on_worker_lost(struct gw_sched *sched, uint32_t id)
{
    size_t at = 0;
    uint64_t relay, value;
    while (gw_map_next(&sched->pending_requests, &at, &relay, &value))
        if (((const struct gw_pending_request *)(uintptr_t)value)->worker == id)
            gw_sched_pending_relay(sched, relay, NULL);
}

void gw_sched_pending_relay(struct gw_sched *sched, uint64_t relay, struct gw_worker *worker)
{
    uint64_t value;
    if (!gw_map_get(&sched->pending_requests, relay, &value))
        return;
    struct gw_pending_request *pending = (struct gw_pending_request *)(uintptr_t)value;
    pending->worker = worker ? worker->id : 0;
    if (!worker)
        GW_MUST(gw_array_push(&sched->revisited, pending->job));
}

void gw_sched_pending_ask(struct gw_sched *sched, const struct gw_pending_request *asked)
{
    struct gw_pending_request *pending = malloc(sizeof *pending);
    GW_MUST_PTR(pending);
    *pending = *asked;
    pending->relay = sched->next_relay++;
    GW_MUST(gw_map_put(&sched->pending_requests, pending->relay, (uintptr_t)pending));
    struct gw_job *job = gw_sched_job_find(sched, pending->job);
    job->pending_requests++;
    GW_MUST(gw_array_push(&sched->revisited, job->id));
}

void gw_sched_pending_answer(struct gw_sched *sched, uint64_t relay)
{
    uint64_t value;
    if (!gw_map_get(&sched->pending_requests, relay, &value))
        return;
    struct gw_pending_request *pending = (struct gw_pending_request *)(uintptr_t)value;
    struct gw_job *job = gw_sched_job_find(sched, pending->job);
    job->pending_requests--;
    if (job->pending_requests == 0 && job->state == GW_JOB_ENDED)
        GW_MUST(gw_array_push(&sched->aging, job->id));
    (void)gw_map_remove(&sched->pending_requests, relay);
    gw_sched_replica_request_free(pending->replication);
    free(pending);
}

void gw_sched_pending_deinit(struct gw_sched *sched)
{
    size_t at = 0;
    uint64_t relay, value;
    while (gw_map_next(&sched->pending_requests, &at, &relay, &value)) {
        struct gw_pending_request *pending = (struct gw_pending_request *)(uintptr_t)value;
        gw_sched_replica_request_free(pending->replication);
        free(pending);
    }
    gw_map_deinit(&sched->pending_requests);
}
