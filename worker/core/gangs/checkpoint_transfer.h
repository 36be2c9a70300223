/* Checkpoints that come here from other workers, and those of commands here. */
#ifndef GW_WORKER_CORE_GANGS_CHECKPOINT_TRANSFER_H
#define GW_WORKER_CORE_GANGS_CHECKPOINT_TRANSFER_H

#include "worker/core/model/state.h"

void gw_checkpoint_transfer_on_gang(struct gw_node_core *core, struct gw_gang *gang);
/* gw_checkpoint_transfer_on_copy: a copy is to be kept here. gw_checkpoint_transfer_on_go: rank 0's
 * folder is whole, and that of ranks here is to become the same. The gang whose ranks need wait no
 * longer for its checkpoint, or NULL. */
void gw_checkpoint_transfer_on_copy(struct gw_node_core *core,
                                    const struct gw_msg_checkpoint_transfer *what);
struct gw_gang *gw_checkpoint_transfer_on_go(struct gw_node_core *core,
                                             const struct gw_msg_transfer_go *go);
struct gw_gang *gw_checkpoint_transfer_on_transferred(struct gw_node_core *core,
                                                      const struct gw_event *event);
/* gw_checkpoint_transfer_lets tells whether a rank may stand as far as this goes; where it never
 * may it is ended. */
bool gw_checkpoint_transfer_lets(struct gw_node_core *core, struct gw_attempt *run);
/* gw_checkpoint_transfer_watch has the folder of a command's rank 0 watched, until it ends. */
void gw_checkpoint_transfer_watch(struct gw_node_core *core, const struct gw_attempt *run);
void gw_checkpoint_transfer_unwatch(struct gw_node_core *core, struct gw_gang *gang);
void gw_checkpoint_transfer_on_saved(struct gw_node_core *core, const struct gw_event *event);
/* gw_checkpoint_transfer_on_checkpointed takes a runner's word that it has saved one. */
int gw_checkpoint_transfer_on_checkpointed(struct gw_node_core *core, struct gw_process *process,
                                           const struct gw_msg_checkpointed *checkpointed);

#endif
