/* Checkpoints that are copied to this worker from other workers, and checkpoints that commands make
 * here. */
#ifndef GW_WORKER_CORE_GANGS_CHECKPOINT_TRANSFER_H
#define GW_WORKER_CORE_GANGS_CHECKPOINT_TRANSFER_H

#include "worker/core/model/state.h"

void gw_checkpoint_transfer_on_gang(struct gw_node_core *core, struct gw_gang *gang);
/* gw_checkpoint_transfer_on_copy starts the transfer of a copy that is to be kept here.
 * gw_checkpoint_transfer_on_go handles the message that the folder of rank 0 is complete, and makes
 * the folder of the ranks here equal to it. It returns the gang if its ranks no longer wait for the
 * checkpoint, otherwise NULL. */
void gw_checkpoint_transfer_on_copy(struct gw_node_core *core,
                                    const struct gw_msg_checkpoint_transfer *what);
struct gw_gang *gw_checkpoint_transfer_on_go(struct gw_node_core *core,
                                             const struct gw_msg_transfer_go *go);
struct gw_gang *gw_checkpoint_transfer_on_transferred(struct gw_node_core *core,
                                                      const struct gw_event *event);
/* gw_checkpoint_transfer_lets returns true if a rank need not wait for its checkpoint. If the
 * checkpoint cannot be transferred, the rank is ended. */
bool gw_checkpoint_transfer_lets(struct gw_node_core *core, struct gw_attempt *run);
/* gw_checkpoint_transfer_watch makes the driver watch the checkpoint folder of rank 0 of a command
 * until the rank ends. */
void gw_checkpoint_transfer_watch(struct gw_node_core *core, const struct gw_attempt *run);
void gw_checkpoint_transfer_unwatch(struct gw_node_core *core, struct gw_gang *gang);
void gw_checkpoint_transfer_on_saved(struct gw_node_core *core, const struct gw_event *event);
/* gw_checkpoint_transfer_on_checkpointed handles a runner's report that it has saved a checkpoint.
 */
int gw_checkpoint_transfer_on_checkpointed(struct gw_node_core *core, struct gw_process *process,
                                           const struct gw_msg_checkpointed *checkpointed);

#endif
