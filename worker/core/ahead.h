/* Runs that go to a runner before all that they take is there: other runners make it, and they take
 * it from the board. */
#ifndef GW_WORKER_CORE_AHEAD_H
#define GW_WORKER_CORE_AHEAD_H

#include "worker/core/state.h"

/* gw_ahead_suits tells whether a run is of the kind that goes ahead, or others go ahead of. */
bool gw_ahead_suits(const struct gw_run *run);
/* gw_ahead_join has a runner share the board; false where it cannot. */
bool gw_ahead_join(struct gw_node_core *core, struct gw_process *process);

/* gw_ahead_offer says of a run that was just put into a runner's queue that what it makes can be
 * taken from the board. gw_ahead_publish gives such ones their places, behind all that is in their
 * batch, and tells their runner. */
void gw_ahead_offer(struct gw_node_core *core, struct gw_run *run);
void gw_ahead_publish(struct gw_node_core *core, struct gw_process *process,
                      struct gw_run *const *runs, uint32_t count);
/* gw_ahead_consider lists a run that could go ahead now. */
void gw_ahead_consider(struct gw_node_core *core, struct gw_run *run);
bool gw_ahead_may(const struct gw_orphan *listed);

/* gw_ahead_hold keeps how a sent run ended (done: taken; failed: as run->end says) until what it
 * took is known to have been made. gw_ahead_drop gives that up. */
void gw_ahead_hold(struct gw_node_core *core, struct gw_run *run, struct gw_run_done *done);
void gw_ahead_drop(struct gw_node_core *core, struct gw_run *run);
/* gw_ahead_return takes a sent run out of its runner's queue: it waits, or is ready, again, and
 * what took from it does not count. One that was cancelled meanwhile ends. */
void gw_ahead_return(struct gw_node_core *core, struct gw_run *run);
/* gw_ahead_lose says of a sent run that it will not get its inputs: it ends when its runner speaks
 * of it. */
void gw_ahead_lose(struct gw_run *run);
int gw_ahead_on_skipped(struct gw_node_core *core, struct gw_process *process,
                        const struct gw_msg_skipped *skipped);
/* gw_ahead_settle tells of those whose inputs are all known to have been made. */
void gw_ahead_settle(struct gw_node_core *core);

#endif
