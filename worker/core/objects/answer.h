/* Answers to those who asked for an object. */
#ifndef GW_WORKER_CORE_OBJECTS_ANSWER_H
#define GW_WORKER_CORE_OBJECTS_ANSWER_H

#include "worker/core/model/state.h"

/* gw_answer_send answers a fetch; object NULL: it is not here. gw_answer_waiter does so for one
 * that waited, unless it is a run or its link is gone. */
void gw_answer_send(struct gw_node_core *core, struct gw_node_link *link, uint64_t request,
                    const struct gw_object *object);
void gw_answer_waiter(struct gw_node_core *core, const struct gw_object_waiter *waiter,
                      const struct gw_object *object);

#endif
