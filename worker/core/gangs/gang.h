/* Ranks that stand, go and end together. */
#ifndef GW_WORKER_CORE_GANGS_GANG_H
#define GW_WORKER_CORE_GANGS_GANG_H

#include "worker/core/model/state.h"

void gw_gang_on_gang(struct gw_node_core *core, const struct gw_msg_gang *message);
/* gw_gang_on_scheduler: ranks that did not come over the last connection never will. */
void gw_gang_on_scheduler(struct gw_node_core *core);
/* gw_gang_on_event takes LEASED, LOOKED, CARRIED and SAVED. */
void gw_gang_on_event(struct gw_node_core *core, const struct gw_event *event);
/* gw_gang_on_checkpoint_message takes a checkpoint_transfer (make a copy), or a transfer_go. */
void gw_gang_on_checkpoint_message(struct gw_node_core *core, const struct gw_message *message);
void gw_gang_on_go(struct gw_node_core *core, const struct gw_event *event);
void gw_gang_pump(struct gw_node_core *core); /* start ranks that waited for their GPUs */
int gw_gang_on_ready(struct gw_node_core *core, struct gw_process *process,
                     const struct gw_msg_rank_ready *ready);
void gw_gang_on_control(struct gw_node_core *core, const struct gw_msg_control *control);
/* gw_gang_prepare_bound tells runners of the ranks, or tasks of actors, that they were given, and
 * looks whether commands of ranks can start; gw_gang_stand tells the scheduler that a rank stands.
 */
void gw_gang_prepare_bound(struct gw_node_core *core);
void gw_gang_stand(struct gw_node_core *core, struct gw_attempt *run);
/* gw_gang_bars_mpi tells whether a process is one of several ranks of a command, which MPI would
 * not find; gw_gang_on_mpi ends the rank of one that is an MPI program all the same. */
bool gw_gang_bars_mpi(const struct gw_process *process);
void gw_gang_on_mpi(struct gw_node_core *core, const struct gw_process *process, const char *text);
void gw_gang_leave(struct gw_node_core *core, struct gw_attempt *run);
void gw_gang_abort(struct gw_node_core *core, struct gw_gang *gang);
void gw_gang_tidy(struct gw_node_core *core, struct gw_gang *gang);
void gw_gang_free(struct gw_node_core *core, struct gw_gang *gang);

#endif
