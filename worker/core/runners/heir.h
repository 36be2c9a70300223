/* Runs that wait for what other runs here make. */
#ifndef GW_WORKER_CORE_RUNNERS_HEIR_H
#define GW_WORKER_CORE_RUNNERS_HEIR_H

#include "worker/core/model/state.h"

/* gw_heir_wait has a run wait for input d, which dep->bytes says who makes; false where that
 * attempt is not here (any more). */
bool gw_heir_wait(struct gw_node_core *core, struct gw_run *run, uint32_t d);
/* gw_heir_give gives what a run made, a value (copied) or an object, to all its heirs. */
void gw_heir_give(struct gw_node_core *core, struct gw_run *maker, struct gw_bin value,
                  struct gw_object *object);
/* gw_heir_part takes a run that is being freed away from its makers and its heirs. */
void gw_heir_part(struct gw_node_core *core, struct gw_run *run);
/* gw_heir_settle gives back what will never get its inputs. */
void gw_heir_settle(struct gw_node_core *core);

#endif
