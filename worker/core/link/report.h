/* Handles the reports of runners about ended tasks. */
#ifndef GW_WORKER_CORE_LINK_REPORT_H
#define GW_WORKER_CORE_LINK_REPORT_H

#include "worker/core/model/state.h"

int gw_report_on_finished(struct gw_node_core *core, struct gw_process *process,
                          const struct gw_event *event);
int gw_report_on_ended(struct gw_node_core *core, struct gw_process *process,
                       const struct gw_msg_ended *ended);
int gw_report_on_failures(struct gw_node_core *core, struct gw_process *process,
                          const struct gw_msg_failures *failures);
void gw_report_of_command(struct gw_node_core *core,
                          struct gw_attempt *run); /* the command ended with exit code 0 */

/* gw_report_end reports run->end to the scheduler and frees the attempt. gw_report_failed frees a
 * failed attempt without a report, since the caller reports it together with other failures. */
void gw_report_end(struct gw_node_core *core, struct gw_attempt *run);
void gw_report_failed(struct gw_node_core *core, struct gw_attempt *run, const char *text);

#endif
