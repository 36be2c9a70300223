/* Tasks that submit tasks, and wait for them. */
#ifndef GW_WORKER_CORE_NESTED_H
#define GW_WORKER_CORE_NESTED_H

#include "worker/core/state.h"

int gw_nested_on_link(struct gw_node_core *core, struct gw_process *process,
                      const struct gw_msg_task_link *link);
int gw_nested_on_blocked(struct gw_node_core *core, struct gw_process *process,
                         const struct gw_msg_task_blocked *blocked);
/* gw_nested_end follows the end of what a process executed. */
void gw_nested_end(struct gw_node_core *core, struct gw_process *process);
/* gw_nested_room tells whether an idle runner's slots are free for it to use. */
bool gw_nested_room(const struct gw_node_core *core, const struct gw_process *process);

#endif
