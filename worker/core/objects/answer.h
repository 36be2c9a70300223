/* Answers to requests for an object. */
#ifndef GW_WORKER_CORE_OBJECTS_ANSWER_H
#define GW_WORKER_CORE_OBJECTS_ANSWER_H

#include "worker/core/model/state.h"

/* gw_answer_send answers a fetch message. If `object` is NULL, the answer says that it is not here.
 * gw_answer_waiter answers the request of a waiter. It does nothing if the waiter is an attempt or
 * its connection is closed. */
void gw_answer_send(struct gw_node_core *core, struct gw_node_link *link, uint64_t request,
                    const struct gw_object *object);
void gw_answer_waiter(struct gw_node_core *core, const struct gw_object_waiter *waiter,
                      const struct gw_object *object);

#endif
