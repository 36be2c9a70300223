/* Successors: attempts that wait for the results of other attempts of this worker. */
#ifndef GW_WORKER_CORE_RUNNERS_SUCCESSOR_H
#define GW_WORKER_CORE_RUNNERS_SUCCESSOR_H

#include "worker/core/model/state.h"

/* gw_successor_wait makes an attempt wait for its input d. dep->bytes names the attempt that makes
 * the input. Returns false if that attempt is not on this worker, or has ended. */
bool gw_successor_wait(struct gw_node_core *core, struct gw_attempt *run, uint32_t d);
/* gw_successor_give gives the result of an attempt, a value (copied) or an object, to all its
 * successors. */
void gw_successor_give(struct gw_node_core *core, struct gw_attempt *maker, struct gw_bin value,
                       struct gw_object *object);
/* gw_successor_part detaches an attempt that is being freed from its makers and its successors. */
void gw_successor_part(struct gw_node_core *core, struct gw_attempt *run);
/* gw_successor_settle gives attempts back to the scheduler that will never get their inputs. */
void gw_successor_settle(struct gw_node_core *core);

#endif
