/* The current checkpoint of each gang: which attempt saved it and which workers have it. The next
 * attempt continues from it and ignores files of other attempts, which may still be written. If
 * hosts do not share a folder, the checkpoint is copied to the next rank 0, and another host of the
 * gang keeps a copy. All of this is stored in the journal. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_CHECKPOINT_H
#define GW_SCHEDULER_CORE_LIFECYCLE_CHECKPOINT_H

#include "scheduler/core/model/state.h"

/* gw_sched_checkpoint_on_message handles three messages of a worker. checkpointed: rank 0 of an
 * attempt has saved a checkpoint (ignored if the attempt has ended). carried: the worker has a
 * copy, or the copy failed. transfer_absent: a worker that should have the checkpoint for the next
 * rank 0 does not have it any more. */
void gw_sched_checkpoint_on_message(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_message *message);

/* gw_sched_checkpoint_on_ready tells the other workers of a gang of commands to copy the
 * checkpoint. It is called when the worker of rank 0 has all of it. */
void gw_sched_checkpoint_on_ready(struct gw_sched *sched, const struct gw_gang_attempt *gang);

/* Commands save in the folder of the worker that runs them, so a restarted scheduler must learn
 * where the ranks of a gang are. gw_sched_checkpoint_on_adopted records the worker of a rank that
 * the scheduler takes over. gw_sched_checkpoint_on_unseen forgets the workers of an earlier
 * attempt, because the facts about the start of the present attempt are lost. */
void gw_sched_checkpoint_on_unseen(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_checkpoint_on_adopted(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                                    uint32_t rank, const struct gw_worker *worker);

/* gw_sched_checkpoint_hand_over finds checkpoints that only this departing worker has. For each of
 * them a gang restarts elsewhere with it, or another worker is told to copy it. Returns true while
 * the worker must wait for that. */
bool gw_sched_checkpoint_hand_over(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_checkpoint_explain writes the step of the checkpoint and the workers that have it. */
void gw_sched_checkpoint_explain(const struct gw_sched *sched, const struct gw_job *job,
                                 uint32_t row, char *text, size_t bytes);

#endif
