/* Progress and metrics of functions, reports of commands, and the answers to the latter. */
#include "worker/core/link/task_report.h"

#include "graph/wire/enums.h"
#include "worker/core/link/metric_reports.h"
#include "worker/core/link/progress_throttle.h"
#include "worker/core/model/tables.h"
#include "worker/core/processes/inactivity_timeout.h"
#include "worker/core/processes/process.h"

int gw_task_report_on_progress(struct gw_node_core *core, struct gw_process *process,
                               const struct gw_message *message)
{
    const struct gw_attempt *run = process->queue.first;
    const struct gw_msg_progress *progress = &message->progress;
    if (!run || run->attempt != progress->attempt || run->rank != progress->rank)
        return GW_EPROTO;
    gw_inactivity_timeout_end(core, process);
    bool first = progress->rank == 0 || progress->rank == GW_RANK_NONE;
    if (first && progress->fraction >= 0)
        gw_progress_throttle_tell(core, progress);
    return 0;
}

int gw_task_report_on_metric(struct gw_node_core *core, struct gw_process *process,
                             const struct gw_message *message)
{
    const struct gw_attempt *run = process->queue.first;
    if (!run || run->attempt != message->metric.attempt)
        return GW_EPROTO;
    gw_inactivity_timeout_end(core, process);
    if (run->rank == 0 || run->rank == GW_RANK_NONE)
        gw_metric_reports_add(core, run, &message->metric);
    return 0;
}

void gw_task_report_on_reported(struct gw_node_core *core, const struct gw_event *event)
{
    struct gw_process *process = gw_process_find(core, event->number);
    const struct gw_attempt *run = process ? process->queue.first : NULL;
    const struct gw_msg_metric *report = &event->message->metric;
    if (!run)
        return;
    gw_inactivity_timeout_end(core, process);
    if (run->gang && report->step > run->gang->reported)
        run->gang->reported = report->step;
    if (*report->name && (run->rank == 0 || run->rank == GW_RANK_NONE))
        gw_metric_reports_add(core, run, report);
}

bool gw_task_report_accepts(const struct gw_node_core *core, const struct gw_process *process,
                            const char *name)
{
    const struct gw_attempt *run = process ? process->queue.first : NULL;
    return !run || (run->rank != 0 && run->rank != GW_RANK_NONE) ||
           gw_metric_reports_has_room(core, run->attempt, name);
}

uint32_t gw_task_report_answer(const struct gw_process *process, int64_t step)
{
    const struct gw_attempt *run = process ? process->queue.first : NULL;
    const uint64_t until = run ? run->spec->message.until_step : 0;
    if (until && step >= 0 && (uint64_t)step >= until)
        return GW_CONTROL_STOP;
    if (run && run->state == GW_ATTEMPT_ENDING)
        return run->preempted ? GW_CONTROL_PAUSE : GW_CONTROL_STOP;
    if (run && run->gang && run->gang->control && step >= run->gang->control_from)
        return run->gang->control;
    return GW_CONTROL_CONTINUE;
}
