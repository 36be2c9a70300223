/* Successors: attempts that wait for the results of other attempts of this worker, their makers.
 *
 * Invariants: a successor stays in its maker's list until the maker ends. If the maker succeeds, it
 * gives its result to the successor. Otherwise the successor is given back to the scheduler in the
 * same step, and so are its own successors. A successor that was sent to a runner is behind its
 * maker in the same batch. The runner keeps the result for it, and skips the successor if there is
 * no result. The worker stores the result for the successor, too, because another runner may have
 * to execute the successor. */
#include "worker/core/runners/successor.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/objects/memory.h"
#include "worker/core/objects/object.h"
#include "worker/core/processes/process.h"
#include "worker/core/runners/runner_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool gw_successor_wait(struct gw_node_core *core, struct gw_attempt *run, uint32_t d)
{
    struct gw_attempt_input *dep = &run->deps[d];
    struct gw_attempt *maker = gw_attempt_find(core, dep->bytes, GW_RANK_NONE);
    if (!maker || maker == run)
        return false;
    dep->maker = maker;
    dep->successor = run;
    dep->next = NULL;
    dep->prev = maker->last_successor;
    if (dep->prev)
        dep->prev->next = dep;
    else
        maker->first_successor = dep;
    maker->last_successor = dep;
    run->missing++;
    return true;
}

static void leave(struct gw_attempt_input *dep)
{
    struct gw_attempt *maker = dep->maker;
    if (dep->prev)
        dep->prev->next = dep->next;
    else
        maker->first_successor = dep->next;
    if (dep->next)
        dep->next->prev = dep->prev;
    else
        maker->last_successor = dep->prev;
    dep->maker = NULL;
}

void gw_successor_give(struct gw_node_core *core, struct gw_attempt *maker, struct gw_bin value,
                       struct gw_object *object)
{
    struct gw_attempt_input *dep;
    while ((dep = maker->first_successor)) {
        struct gw_attempt *run = dep->successor;
        leave(dep);
        dep->worker = 0;
        dep->bytes = object ? object->bytes : value.size;
        if (object) {
            bool here = gw_object_use(core, object, run, (uint32_t)(dep - run->deps));
            assert(here); /* the object was made just now, so it is in memory */
            (void)here;
            object->pins += run->pinned; /* the runner of the successor holds the object, too */
            gw_memory_rank(core, object);
        } else {
            void *copy = dep->small;
            if (value.size > sizeof dep->small)
                copy = dep->owned = gw_core_alloc(value.size);
            memcpy(copy, value.data, value.size);
            dep->value = copy;
            dep->value_size = value.size;
        }
        if (--run->missing == 0 && run->state == GW_ATTEMPT_WAITING)
            gw_runner_pool_queue(core, run);
    }
}

static void orphan_successors(struct gw_node_core *core, struct gw_attempt *run)
{
    while (run->first_successor) {
        struct gw_attempt *successor = run->first_successor->successor;
        leave(run->first_successor);
        GW_MUST(
            gw_array_push(&core->orphans, ((struct gw_attempt_ref){successor, successor->serial})));
    }
}

void gw_successor_part(struct gw_node_core *core, struct gw_attempt *run)
{
    for (uint32_t d = 0; d < run->dep_count; d++) {
        if (run->deps[d].maker)
            leave(&run->deps[d]);
        free(run->deps[d].owned);
    }
    orphan_successors(core, run);
}

void gw_successor_settle(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->orphans.count; i++) {
        struct gw_attempt_ref orphan = core->orphans.items[i];
        struct gw_attempt *run = orphan.run;
        if (run->serial != orphan.serial || run->state == GW_ATTEMPT_ENDED)
            continue;                      /* it ended by itself */
        if (run->state == GW_ATTEMPT_SENT) /* the runner skips it */
            gw_process_return(core, run);
        orphan_successors(
            core, run); /* the successors of this attempt leave the queue in this step, too */
        if (run->state == GW_ATTEMPT_ENDED)
            continue; /* the attempt was cancelled in the runner's queue */
        gw_process_end_attempt(core, run, gw_attempt_killed("an input was not made"), 0);
    }
    gw_array_clear(&core->orphans);
}
