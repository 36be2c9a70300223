/* Progress and metrics of running tasks. Each is a sign of life for the inactivity timeout. */
#ifndef GW_WORKER_CORE_LINK_TASK_REPORT_H
#define GW_WORKER_CORE_LINK_TASK_REPORT_H

#include "worker/core/model/state.h"

/* gw_task_report_on_progress and gw_task_report_on_metric handle the messages of a runner. They
 * return GW_EPROTO if the message is not of the task that the runner executes. */
int gw_task_report_on_progress(struct gw_node_core *core, struct gw_process *process,
                               const struct gw_message *message);
int gw_task_report_on_metric(struct gw_node_core *core, struct gw_process *process,
                             const struct gw_message *message);

/* gw_task_report_on_reported handles a report of a command (event REPORTED). The metric is passed
 * on to the scheduler unless it is that of a rank other than 0. gw_task_report_answer returns the
 * answer to a report (enum gw_control). process may be NULL. */
void gw_task_report_on_reported(struct gw_node_core *core, const struct gw_event *event);
uint32_t gw_task_report_answer(const struct gw_process *process, int64_t step);

/* gw_task_report_accepts returns false if gw_task_report_on_reported would drop a report of this
 * metric, because the attempt has too many others. */
bool gw_task_report_accepts(const struct gw_node_core *core, const struct gw_process *process,
                            const char *name);

#endif
