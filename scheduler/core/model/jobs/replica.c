/* Replicas of results that are being made. */
#include "scheduler/core/model/jobs/replica.h"

#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/workers/need.h"

#include <assert.h>
#include <stdlib.h>

struct gw_pending_request *gw_sched_replica_pending(const struct gw_sched *sched, uint64_t number)
{
    uint64_t value;
    return gw_map_get(&sched->pending_requests, number, &value)
               ? (struct gw_pending_request *)(uintptr_t)value
               : NULL;
}

struct gw_replica *gw_sched_replica_at(const struct gw_sched *sched, uint32_t holder)
{
    uint64_t value = 0;
    bool found = gw_map_get(&sched->replicas, holder, &value);
    assert(found);
    (void)found;
    return (struct gw_replica *)(uintptr_t)value;
}

/* Marks all requests for replicas to be tried again. The request that caused a replica may be gone
 * or be about another job, but other requests may wait for a replica of the same object. */
static void revisit_all(struct gw_sched *sched)
{
    size_t at = 0;
    uint64_t number, value;
    while (gw_map_next(&sched->pending_requests, &at, &number, &value)) {
        const struct gw_pending_request *pending =
            (const struct gw_pending_request *)(uintptr_t)value;
        if (pending->type == GW_MESSAGE_replicate)
            GW_MUST(gw_array_push(&sched->revisited, pending->job));
    }
}

void gw_sched_replica_gone(struct gw_sched *sched, uint32_t holder)
{
    struct gw_replica *replica = gw_sched_replica_at(sched, holder);
    const struct gw_pending_request *pending = gw_sched_replica_pending(sched, replica->pending);
    const struct gw_job *of = sched->objects.items[sched->holders.items[holder].object].job;
    if (pending && !gw_job_rare(of)->had_pures) /* otherwise rows of any job may share the object */
        GW_MUST(gw_array_push(&sched->revisited, pending->job));
    else
        revisit_all(sched);
    (void)gw_map_remove(&sched->replicas, holder);
    free(replica);
}

void gw_sched_replica_request_free(struct gw_replication *replication)
{
    if (!replication)
        return;
    for (size_t i = 0; i < replication->troubles.count; i++)
        free(replication->troubles.items[i].text);
    gw_array_deinit(&replication->troubles);
    gw_sched_need_unref(replication->workers);
    free(replication);
}

void gw_sched_replicas_deinit(struct gw_sched *sched)
{
    assert(sched->replicas.count == 0); /* they were removed with their objects */
    gw_map_deinit(&sched->replicas);
}
