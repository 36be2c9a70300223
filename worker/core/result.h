/* What runners report. */
#ifndef GW_WORKER_CORE_RESULT_H
#define GW_WORKER_CORE_RESULT_H

#include "worker/core/state.h"

int gw_result_on_finished(struct gw_node_core *core, struct gw_process *process,
                          const struct gw_event *event);
int gw_result_on_ended(struct gw_node_core *core, struct gw_process *process,
                       const struct gw_msg_ended *ended);
int gw_result_on_failures(struct gw_node_core *core, struct gw_process *process,
                          const struct gw_msg_failures *failures);
void gw_result_of_command(struct gw_node_core *core, struct gw_run *run); /* exit code 0 */
/* gw_result_tell tells the scheduler, if there is one, of an end; stderr_path: see struct
 * gw_effect. */
void gw_result_tell(struct gw_node_core *core, const struct gw_message *message,
                    struct gw_bin stderr_path);

#endif
