/* Appliers of facts about replicas. */

#include "scheduler/core/model/jobs/replica.h"
#include "scheduler/core/model/jobs/object.h"

#include <stdlib.h>
#include <string.h>

void gw_sched_apply_replica_begun(struct gw_sched *sched, const struct gw_fact_replica_begun *fact)
{
    struct gw_replica *replica = malloc(sizeof *replica);
    GW_MUST_PTR(replica);
    *replica = (struct gw_replica){fact->number, fact->pending};
    sched->next_relay = fact->number + 1;
    uint32_t holder = gw_sched_object_holder_copy(sched, fact->object, fact->worker);
    GW_MUST(gw_map_put(&sched->replicas, holder, (uintptr_t)replica));
}

static void note_trouble(struct gw_replication *replication,
                         const struct gw_fact_replica_ended *fact)
{
    struct gw_replica_trouble *trouble = NULL;
    for (size_t i = 0; i < replication->troubles.count && !trouble; i++)
        if (replication->troubles.items[i].worker == fact->worker->id)
            trouble = &replication->troubles.items[i];
    if (!trouble) {
        GW_MUST(gw_array_push(&replication->troubles,
                              ((struct gw_replica_trouble){.worker = fact->worker->id})));
        trouble = &replication->troubles.items[replication->troubles.count - 1];
    }
    trouble->tries++;
    trouble->code = fact->code;
    free(trouble->text);
    trouble->text = strdup(fact->text);
    GW_MUST_PTR(trouble->text);
}

void gw_sched_apply_replica_ended(struct gw_sched *sched, const struct gw_fact_replica_ended *fact)
{
    uint32_t holder = gw_sched_object_holder_of(sched, fact->object, fact->worker->slot);
    struct gw_pending_request *pending =
        gw_sched_replica_pending(sched, gw_sched_replica_at(sched, holder)->pending);
    if (fact->code < 0 && pending)
        note_trouble(pending->replication, fact);
    gw_sched_object_holder_copied(sched, holder, fact->code == 0);
}
