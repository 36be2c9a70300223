/* Runs that wait for what other runs here make. */
#ifndef GW_WORKER_CORE_RUNNERS_SUCCESSOR_H
#define GW_WORKER_CORE_RUNNERS_SUCCESSOR_H

#include "worker/core/model/state.h"

/* gw_successor_wait has a run wait for input d, which dep->bytes says who makes; false where that
 * attempt is not here (any more). */
bool gw_successor_wait(struct gw_node_core *core, struct gw_attempt *run, uint32_t d);
/* gw_successor_give gives what a run made, a value (copied) or an object, to all its successors. */
void gw_successor_give(struct gw_node_core *core, struct gw_attempt *maker, struct gw_bin value,
                       struct gw_object *object);
/* gw_successor_part takes a run that is being freed away from its makers and its successors. */
void gw_successor_part(struct gw_node_core *core, struct gw_attempt *run);
/* gw_successor_settle gives back what will never get its inputs. */
void gw_successor_settle(struct gw_node_core *core);

#endif
