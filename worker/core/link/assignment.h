/* Attempts and ranks that the scheduler assigns to this worker. */
#ifndef GW_WORKER_CORE_LINK_ASSIGNMENT_H
#define GW_WORKER_CORE_LINK_ASSIGNMENT_H

#include "worker/core/model/state.h"

int gw_assignment_on_assign(struct gw_node_core *core, const struct gw_msg_assign *assign);
void gw_assignment_on_kill(struct gw_node_core *core, const struct gw_msg_kill *kill);
/* gw_assignment_let_go ends all ordinary attempts that have no process yet. The next scheduler
 * assigns their tasks again. */
void gw_assignment_let_go(struct gw_node_core *core);

#endif
