/* Retained folders: what commands with files left in their working folders, for `gangway get`.
 *
 * Invariants: at most one folder per task or rank is retained, that of its last attempt here. The
 * folders are in the order in which they were retained, and there are at most
 * GW_RETAINED_WORKDIRS_MAX of them. The total size of those already measured is at most the limit,
 * and at most half of the disk space that would be free without them. The oldest are removed first.
 * All folders of a job are removed with the job, and all folders with the worker. */
#include "worker/core/objects/workdir_retention.h"

#include "worker/core/model/core.h"
#include "worker/core/model/job.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void drop(struct gw_node_core *core, size_t i)
{
    struct gw_retained_workdir *workdir = &core->retained_workdirs.items[i];
    gw_core_effect(core, GW_EFFECT_UNFOLDER)->number = workdir->serial;
    core->retained_bytes -= workdir->bytes;
    free(workdir->path);
    core->retained_workdirs.count--;
    memmove(workdir, workdir + 1, (core->retained_workdirs.count - i) * sizeof *workdir);
}

const struct gw_retained_workdir *gw_workdir_retention_find(const struct gw_node_core *core,
                                                            uint64_t job, uint32_t index,
                                                            uint32_t rank)
{
    for (size_t i = 0; i < core->retained_workdirs.count; i++) {
        const struct gw_retained_workdir *workdir = &core->retained_workdirs.items[i];
        if (workdir->job == job && workdir->index == index && workdir->rank == rank)
            return workdir;
    }
    return NULL;
}

/* Returns true if the attempt's folder should be retained: its process was started, was not ended
 * by an order other than its time limit, and its job is still known. */
static bool is_worth_it(struct gw_node_core *core, const struct gw_attempt *run)
{
    const struct gw_process *process = run->process;
    const struct gw_node_job *job = gw_core_job(core, run->job, false);
    return core->options.retained_bytes_max > 0 && process && process->exit_known && job &&
           job->specs.count > 0 &&
           (!process->reaping || process->unasked || run->end.outcome == GW_OUTCOME_TIMEOUT);
}

bool gw_workdir_retention_take(struct gw_node_core *core, struct gw_attempt *run)
{
    if (run->spec->message.kind != GW_SPEC_COMMAND)
        return false;
    const struct gw_retained_workdir *older =
        gw_workdir_retention_find(core, run->job, run->index, run->rank);
    if (older)
        drop(core, (size_t)(older - core->retained_workdirs.items));
    if (!is_worth_it(core, run))
        return false;
    if (core->retained_workdirs.count == GW_RETAINED_WORKDIRS_MAX)
        drop(core, 0);
    GW_MUST(
        gw_array_push(&core->retained_workdirs, (struct gw_retained_workdir){.serial = run->serial,
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
    uint64_t limit = core->options.retained_bytes_max;
    while (i < core->retained_workdirs.count &&
           core->retained_workdirs.items[i].serial != event->number)
        i++;
    if (i == core->retained_workdirs.count) /* the folder was removed since the request */
        return;
    core->retained_workdirs.items[i].bytes = event->bytes;
    core->retained_bytes += event->bytes;
    uint64_t room = event->free_bytes +
                    core->retained_bytes; /* free space of the disk without retained folders */
    if (limit > room / 2)
        limit = room / 2;
    if (event->bytes > limit) { /* too large by itself: removing the others would not help */
        drop(core, i);
        return;
    }
    while (core->retained_bytes > limit)
        drop(core, 0);
}

void gw_workdir_retention_on_forget(struct gw_node_core *core, uint64_t job)
{
    for (size_t i = core->retained_workdirs.count; i-- > 0;)
        if (core->retained_workdirs.items[i].job == job)
            drop(core, i);
}

void gw_workdir_retention_deinit(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->retained_workdirs.count; i++)
        free(core->retained_workdirs.items[i].path);
    gw_array_deinit(&core->retained_workdirs);
}

void gw_workdir_retention_check(const struct gw_node_core *core)
{
    uint64_t bytes = 0;
    assert(core->retained_workdirs.count <= GW_RETAINED_WORKDIRS_MAX);
    for (size_t i = 0; i < core->retained_workdirs.count; i++) {
        const struct gw_retained_workdir *workdir = &core->retained_workdirs.items[i];
        assert(workdir->path && gw_workdir_retention_find(core, workdir->job, workdir->index,
                                                          workdir->rank) == workdir);
        assert(i == 0 || workdir[-1].serial != workdir->serial);
        bytes += workdir->bytes;
    }
    assert(bytes == core->retained_bytes && bytes <= core->options.retained_bytes_max);
}
