/* Gangs: ranks that start together and end together. */
#ifndef GW_WORKER_CORE_GANGS_GANG_H
#define GW_WORKER_CORE_GANGS_GANG_H

#include "worker/core/model/state.h"

void gw_gang_on_gang(struct gw_node_core *core, const struct gw_msg_gang *message);
/* gw_gang_on_scheduler handles a new connection to the scheduler. Ranks that had not arrived over
 * the old connection will never arrive. */
void gw_gang_on_scheduler(struct gw_node_core *core);
/* gw_gang_on_event handles the events LEASED, LOOKED, CHECKPOINT_TRANSFERRED and SAVED. */
void gw_gang_on_event(struct gw_node_core *core, const struct gw_event *event);
/* gw_gang_on_checkpoint_message handles the messages checkpoint_transfer (keep a copy here) and
 * transfer_go. */
void gw_gang_on_checkpoint_message(struct gw_node_core *core, const struct gw_message *message);
void gw_gang_on_go(struct gw_node_core *core, const struct gw_event *event);
void gw_gang_pump(struct gw_node_core *core); /* starts ranks that waited for their GPUs */
int gw_gang_on_ready(struct gw_node_core *core, struct gw_process *process,
                     const struct gw_msg_rank_ready *ready);
void gw_gang_on_control(struct gw_node_core *core, const struct gw_msg_control *control);
/* gw_gang_prepare_bound tells runners of the ranks, or of the tasks of actors, that were assigned
 * to them in this step. For ranks of commands, it checks if the command can start. gw_gang_stand
 * reports to the scheduler that a rank is ready. */
void gw_gang_prepare_bound(struct gw_node_core *core);
void gw_gang_stand(struct gw_node_core *core, struct gw_attempt *run);
/* gw_gang_bars_mpi returns true if a process is one of several ranks of a command. In such a
 * process, MPI would not find the other ranks. gw_gang_on_usage ends ranks whose processes have
 * turned out to be MPI programs. */
bool gw_gang_bars_mpi(const struct gw_process *process);
void gw_gang_on_usage(struct gw_node_core *core, const struct gw_event *event);
void gw_gang_leave(struct gw_node_core *core, struct gw_attempt *run);
void gw_gang_abort(struct gw_node_core *core, struct gw_gang *gang);
void gw_gang_tidy(struct gw_node_core *core, struct gw_gang *gang);
void gw_gang_free(struct gw_node_core *core, struct gw_gang *gang);

#endif
