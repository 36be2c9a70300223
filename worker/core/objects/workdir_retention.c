/* Kept folders: what commands with files left in the folders of their own, for `gangway get`.
 *
 * Always: at most one of a rank, the one of its last attempt here; in the order in which they were
 * left, at most GW_NODE_KEPT_MAX of them; what was counted of them has no more bytes than the
 * limit, and than were free beside them when the last was counted, so that new folders find room.
 * The oldest go first, and all with their job and with the worker. */
#include "worker/core/objects/workdir_retention.h"

#include "worker/core/model/core.h"
#include "worker/core/model/job.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void drop(struct gw_node_core *core, size_t i)
{
    struct gw_retained_workdir *kept = &core->kept.items[i];
    gw_core_effect(core, GW_EFFECT_UNFOLDER)->number = kept->serial;
    core->kept_bytes -= kept->bytes;
    free(kept->path);
    core->kept.count--;
    memmove(kept, kept + 1, (core->kept.count - i) * sizeof *kept);
}

const struct gw_retained_workdir *gw_workdir_retention_find(const struct gw_node_core *core,
                                                            uint64_t job, uint32_t index,
                                                            uint32_t rank)
{
    for (size_t i = 0; i < core->kept.count; i++) {
        const struct gw_retained_workdir *kept = &core->kept.items[i];
        if (kept->job == job && kept->index == index && kept->rank == rank)
            return kept;
    }
    return NULL;
}

/* It was started, and nobody but its own limit ended it; and its job may still be asked about. */
static bool is_worth_it(struct gw_node_core *core, const struct gw_attempt *run)
{
    const struct gw_process *process = run->process;
    const struct gw_node_job *job = gw_core_job(core, run->job, false);
    return core->options.kept_bytes_max > 0 && process && process->exit_known && job &&
           job->specs.count > 0 &&
           (!process->burying || process->unasked || run->end.outcome == GW_OUTCOME_TIMEOUT);
}

bool gw_workdir_retention_take(struct gw_node_core *core, struct gw_attempt *run)
{
    if (run->spec->message.kind != GW_SPEC_COMMAND)
        return false;
    const struct gw_retained_workdir *older =
        gw_workdir_retention_find(core, run->job, run->index, run->rank);
    if (older)
        drop(core, (size_t)(older - core->kept.items));
    if (!is_worth_it(core, run))
        return false;
    if (core->kept.count == GW_NODE_KEPT_MAX)
        drop(core, 0);
    GW_MUST(gw_array_push(&core->kept, (struct gw_retained_workdir){.serial = run->serial,
                                                                    .job = run->job,
                                                                    .index = run->index,
                                                                    .rank = run->rank,
                                                                    .path = run->folder}));
    gw_core_effect(core, GW_EFFECT_COUNT)->number = run->serial;
    return true;
}

void gw_workdir_retention_on_counted(struct gw_node_core *core, const struct gw_event *event)
{
    size_t i = 0;
    uint64_t limit = core->options.kept_bytes_max;
    while (i < core->kept.count && core->kept.items[i].serial != event->number)
        i++;
    if (i == core->kept.count) /* it went meanwhile */
        return;
    core->kept.items[i].bytes = event->bytes;
    core->kept_bytes += event->bytes;
    uint64_t room = event->free_bytes + core->kept_bytes; /* were there none of them */
    if (limit > room / 2)
        limit = room / 2;
    if (event->bytes > limit) { /* the others need not go for it */
        drop(core, i);
        return;
    }
    while (core->kept_bytes > limit)
        drop(core, 0);
}

void gw_workdir_retention_on_forget(struct gw_node_core *core, uint64_t job)
{
    for (size_t i = core->kept.count; i-- > 0;)
        if (core->kept.items[i].job == job)
            drop(core, i);
}

void gw_workdir_retention_deinit(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->kept.count; i++)
        free(core->kept.items[i].path);
    gw_array_deinit(&core->kept);
}

void gw_workdir_retention_check(const struct gw_node_core *core)
{
    uint64_t bytes = 0;
    assert(core->kept.count <= GW_NODE_KEPT_MAX);
    for (size_t i = 0; i < core->kept.count; i++) {
        const struct gw_retained_workdir *kept = &core->kept.items[i];
        assert(kept->path &&
               gw_workdir_retention_find(core, kept->job, kept->index, kept->rank) == kept);
        assert(i == 0 || kept[-1].serial != kept->serial);
        bytes += kept->bytes;
    }
    assert(bytes == core->kept_bytes && bytes <= core->options.kept_bytes_max);
}
