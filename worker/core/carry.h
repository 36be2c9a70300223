/* Checkpoints that come here from other workers, and those of commands here. */
#ifndef GW_WORKER_CORE_CARRY_H
#define GW_WORKER_CORE_CARRY_H

#include "worker/core/state.h"

void gw_node_carry_on_gang(struct gw_node_core *core, struct gw_gang *gang);
/* gw_node_carry_on_message takes a carry (keep a copy), or a carry_go: rank 0's folder is whole,
 * and that of ranks here is to become the same. */
void gw_node_carry_on_message(struct gw_node_core *core, const struct gw_message *message);
void gw_node_carry_on_carried(struct gw_node_core *core, const struct gw_event *event);
/* gw_node_carry_lets tells whether a rank may stand as far as this goes; where it never may it is
 * ended. */
bool gw_node_carry_lets(struct gw_node_core *core, struct gw_run *run);
/* gw_node_carry_watch has the folder of a command's rank 0 watched, until it ends. */
void gw_node_carry_watch(struct gw_node_core *core, const struct gw_run *run);
void gw_node_carry_unwatch(struct gw_node_core *core, struct gw_gang *gang);
void gw_node_carry_on_saved(struct gw_node_core *core, const struct gw_event *event);
/* gw_node_carry_on_checkpointed takes a runner's word that it has saved one. */
int gw_node_carry_on_checkpointed(struct gw_node_core *core, struct gw_process *process,
                                  const struct gw_msg_checkpointed *checkpointed);

#endif
