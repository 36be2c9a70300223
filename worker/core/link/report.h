/* What runners report. */
#ifndef GW_WORKER_CORE_LINK_REPORT_H
#define GW_WORKER_CORE_LINK_REPORT_H

#include "worker/core/model/state.h"

int gw_report_on_finished(struct gw_node_core *core, struct gw_process *process,
                          const struct gw_event *event);
int gw_report_on_ended(struct gw_node_core *core, struct gw_process *process,
                       const struct gw_msg_ended *ended);
int gw_report_on_failures(struct gw_node_core *core, struct gw_process *process,
                          const struct gw_msg_failures *failures);
void gw_report_of_command(struct gw_node_core *core, struct gw_attempt *run); /* exit code 0 */

/* gw_report_end tells of run.end and frees the run; gw_report_failed ends a run of which the
 * scheduler is told with others like it, and frees it. */
void gw_report_end(struct gw_node_core *core, struct gw_attempt *run);
void gw_report_failed(struct gw_node_core *core, struct gw_attempt *run, const char *text);

#endif
