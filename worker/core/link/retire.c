/* Frees an attempt and releases everything that it holds. */
#include "worker/core/link/retire.h"

#include "worker/core/gangs/gang.h"
#include "worker/core/link/metric_reports.h"
#include "worker/core/link/orphaned.h"
#include "worker/core/link/progress_throttle.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/job.h"
#include "worker/core/objects/object.h"
#include "worker/core/objects/workdir.h"
#include "worker/core/runners/successor.h"

#include <stdlib.h>

void gw_retire_attempt(struct gw_node_core *core, struct gw_attempt *run)
{
    gw_attempt_pull(run);
    gw_progress_throttle_end(core, run);
    if ((run->rank == 0 || run->rank == GW_RANK_NONE) && !gw_orphaned_stores(core, run))
        gw_metric_reports_drop(core, run->attempt);
    if (run->process)
        run->process->load_ns -= run->load_ns;
    if (run->holds_slots)
        core->slots_used -= run->spec->slots;
    if (run->pool)
        run->pool->run_count--;
    if (run->gang)
        gw_gang_leave(core, run);
    else
        gw_map_remove(&core->attempts, run->attempt);
    gw_workdir_leave(core, run);
    gw_successor_part(core, run);
    gw_object_unpin(core, run);
    for (uint32_t i = 0; i < run->dep_count; i++)
        if (run->deps[i].object)
            gw_object_unuse(core, run->deps[i].object);
    gw_spec_unref(run->spec);
    free(run->end.text);
    free(run->tail);
    free(run->block);
    run->serial = 0;
    run->state = GW_ATTEMPT_ENDED;
    run->next = core->run_spare;
    core->run_spare = run;
}
