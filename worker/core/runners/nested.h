/* Tasks that submit other tasks and wait for them. */
#ifndef GW_WORKER_CORE_RUNNERS_NESTED_H
#define GW_WORKER_CORE_RUNNERS_NESTED_H

#include "worker/core/model/state.h"

int gw_nested_on_link(struct gw_node_core *core, struct gw_process *process,
                      const struct gw_msg_task_link *link);
int gw_nested_on_blocked(struct gw_node_core *core, struct gw_process *process,
                         const struct gw_msg_task_blocked *blocked);

#endif
