/* Changes of state of replicas. */

#include "scheduler/core/model/jobs/replica.h"
#include "scheduler/core/model/changes/changes.h"
#include "scheduler/core/model/jobs/object.h"

#include <stdlib.h>
#include <string.h>

void gw_sched_replica_begin(struct gw_sched *sched, uint32_t object, struct gw_worker *worker,
                            uint64_t number, uint64_t pending)
{
    struct gw_replica *replica = malloc(sizeof *replica);
    GW_MUST_PTR(replica);
    *replica = (struct gw_replica){number, pending};
    sched->next_relay = number + 1;
    uint32_t holder = gw_sched_object_holder_copy(sched, object, worker);
    GW_MUST(gw_map_put(&sched->replicas, holder, (uintptr_t)replica));
}

static void note_trouble(struct gw_replication *replication, const struct gw_worker *worker,
                         int32_t code, const char *text)
{
    struct gw_replica_trouble *trouble = NULL;
    for (size_t i = 0; i < replication->troubles.count && !trouble; i++)
        if (replication->troubles.items[i].worker == worker->id)
            trouble = &replication->troubles.items[i];
    if (!trouble) {
        GW_MUST(gw_array_push(&replication->troubles,
                              ((struct gw_replica_trouble){.worker = worker->id})));
        trouble = &replication->troubles.items[replication->troubles.count - 1];
    }
    trouble->tries++;
    trouble->code = code;
    free(trouble->text);
    trouble->text = strdup(text);
    GW_MUST_PTR(trouble->text);
}

void gw_sched_replica_end(struct gw_sched *sched, uint32_t object, struct gw_worker *worker,
                          int32_t code, const char *text)
{
    uint32_t holder = gw_sched_object_holder_of(sched, object, worker->slot);
    struct gw_pending_request *pending =
        gw_sched_replica_pending(sched, gw_sched_replica_at(sched, holder)->pending);
    if (code < 0 && pending)
        note_trouble(pending->replication, worker, code, text);
    gw_sched_object_holder_copied(sched, holder, code == 0);
}
