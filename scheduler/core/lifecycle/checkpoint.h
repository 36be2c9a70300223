/* Which attempt's checkpoint of a gang is current: the next attempt goes on from there, whatever
 * other attempts, dead or cut off, have left or still write beside it. And where it lies: where
 * hosts do not share their folder it is carried to the next rank 0, and another host of the gang
 * keeps a copy. All of that is durable. */
#ifndef GW_SCHEDULER_CORE_LIFECYCLE_CHECKPOINT_H
#define GW_SCHEDULER_CORE_LIFECYCLE_CHECKPOINT_H

#include "scheduler/core/model/state.h"

/* gw_sched_checkpoint_on_message takes a worker's word that rank 0 of an attempt has saved one
 * (checkpointed; of an attempt that is over it is not taken), that it has a copy, or why not
 * (carried), or, where rank 0 prepares, that a worker has nothing of it any more (carry_absent). */
void gw_sched_checkpoint_on_message(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_message *message);

/* gw_sched_checkpoint_on_ready: the worker of rank 0 has all of the checkpoint, and the others of a
 * gang of commands are to have the same. */
void gw_sched_checkpoint_on_ready(struct gw_sched *sched, const struct gw_gang_attempt *gang);

/* Where ranks of commands run is where they save: told of each rank that is taken over, as the
 * facts of its going may be lost with the scheduler before. gw_sched_checkpoint_on_unseen: they are
 * lost, and so who wrote before does not count any more. */
void gw_sched_checkpoint_on_unseen(struct gw_sched *sched, struct gw_job *job, uint32_t row);
void gw_sched_checkpoint_on_adopted(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                                    uint32_t rank, const struct gw_worker *worker);

/* gw_sched_checkpoint_hand_over looks for what nobody has but a worker that leaves: ranks start
 * with it elsewhere, or another worker is told to keep a copy. false: nothing is left of that. */
bool gw_sched_checkpoint_hand_over(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_checkpoint_explain says of which step it is, and who has it. */
void gw_sched_checkpoint_explain(const struct gw_sched *sched, const struct gw_job *job,
                                 uint32_t row, char *text, size_t bytes);

#endif
